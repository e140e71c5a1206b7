"""What a profile wants done on a hang, and how often."""

from __future__ import annotations

import pytest

from launcher.profile.model import Watch
from launcher.watch import Finding
from launcher.watch.acting import action

HANG = Finding("frozen-transfer", "decode-0", "hung", "2 requests waiting for KV", 0.0, ("prefill-0",))
WHY = "decode-0 hung: 2 requests waiting for KV"


@pytest.mark.parametrize("on_hang", ["collect", "none"])
def test_nothing_is_done_unless_the_profile_says_so(on_hang: str) -> None:
    assert action(Watch(on_hang=on_hang), HANG, [], "pd", 0.0).command == ()


def test_a_restart_takes_the_partners_along_and_drains_nothing() -> None:
    done = action(Watch(on_hang="restart"), HANG, [], "pd", 0.0)
    assert done.command == ("restart", "decode-0", "prefill-0", "--now", "-d", "pd", "-m", WHY)
    assert done.words == "restarting decode-0 and prefill-0"


def test_a_rollback_leaves_an_operator_alone() -> None:
    done = action(Watch(on_hang="rollback:noon"), HANG, [], "pd", 0.0)
    assert done.command == ("rollback", "--to", "noon", "--yes", "--now", "--if-free", "-d", "pd", "-m", WHY)


@pytest.mark.parametrize(
    ("acted", "acts"), [([], True), ([50.0], True), ([50.0, 60.0], False), ([-3600.0, 60.0], True), ([-4000.0], True)]
)
def test_it_acts_at_most_so_often(acted: list[float], acts: bool) -> None:
    watch = Watch(on_hang="restart", times=2, within=3600.0)
    done = action(watch, HANG, acted, "pd", 100.0)
    assert bool(done.command) is acts
    assert acts or "acted 2 times in 60 minutes" in done.words
