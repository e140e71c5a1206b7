"""`rejoin.py` as a generation carries it: a partner is restarted only where no token comes and none is counted."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from launcher.store.process import this_process

from .fake_server import TOKENS, serving
from .scripts import Scripts


class Pair:
    """A prefill that came up first and a decode that was started again; they speak as `broken` and `counting` say."""

    def __init__(self, scripts: Scripts, stack: ExitStack) -> None:
        self.scripts, self.counted = scripts, 0.0
        self.broken = self.slow = self.counting = self.mends = False
        for name, since in (("prefill-0", "100"), ("decode-0", "900")):
            scripts.add(name, stack.enter_context(serving(self.answer)), bootstrap=1)
            scripts.unit(name, ActiveState="active", ActiveEnterTimestampMonotonic=since)

    def answer(self, path: str, _: str | None) -> tuple[int, str]:
        if path == "/metrics":
            self.counted += 1 if self.counting else 0
            return 200, f'# TYPE x\nsglang:generation_tokens_total{{rank="0"}} {self.counted}\n'
        if path == "/generate" and self.broken and not (self.mends and self.scripts.restarted()):
            return 500, "no such agent"
        if path == "/generate" and self.slow:
            time.sleep(self.scripts.facts["patience"] + 1)
        return 200, TOKENS


@pytest.fixture
def scripts(tmp_path: Path) -> Scripts:
    return Scripts(tmp_path / "scripts")


@pytest.fixture
def pair(scripts: Scripts) -> Iterator[Pair]:
    with ExitStack() as stack:
        yield Pair(scripts, stack)


def test_where_tokens_come_nothing_is_restarted(scripts: Scripts, pair: Pair) -> None:
    code, said = scripts.run("rejoin.py")
    assert code == 0, said
    assert "token  600 in, prefill-0 -> decode-0\n" in said
    assert scripts.restarted() == []


def test_the_side_that_stayed_is_restarted_where_none_come(scripts: Scripts, pair: Pair) -> None:
    pair.broken = pair.mends = True
    code, said = scripts.run("rejoin.py")
    assert code == 0, said
    assert "answered 500: no such agent" in said
    assert "prefill-0  is restarted: its paths give no tokens, and it is the one that stayed\n" in said
    assert scripts.restarted() == ["pd-d-prefill-0.service"]


def test_it_waits_until_the_router_has_healthy_workers_again(scripts: Scripts, pair: Pair) -> None:
    asked: list[str] = []

    def router(path: str, _: str | None) -> tuple[int, str]:
        asked.append(path)
        return (200 if len(asked) > 2 else 503), ""

    with serving(router) as port:
        scripts.facts["router"] = scripts.server("router", port)
        scripts.unit("router", ActiveState="active")
        code, said = scripts.run("rejoin.py")
    assert code == 0, said
    assert said.endswith("router  has healthy workers again\n")
    assert asked == ["/readiness"] * 3


def test_it_tries_that_once(scripts: Scripts, pair: Pair) -> None:
    pair.broken = True
    code, said = scripts.run("rejoin.py")
    assert code == 1
    assert said.endswith("error: a restart of the partner did not help: left as it is, see `pdlaunch status`\n")
    assert scripts.restarted() == ["pd-d-prefill-0.service"]


def test_a_busy_pair_is_not_taken_for_a_broken_one(scripts: Scripts, pair: Pair) -> None:
    pair.slow = pair.counting = True
    code, said = scripts.run("rejoin.py")
    assert code == 0, said
    assert "busy  prefill-0 -> decode-0: no answer in 1 s, but decode-0 makes tokens\n" in said
    assert scripts.restarted() == []


def test_one_that_neither_answers_nor_counts_is_broken(scripts: Scripts, pair: Pair) -> None:
    pair.slow = True
    code, _ = scripts.run("rejoin.py")
    assert code == 1
    assert scripts.restarted() == ["pd-d-prefill-0.service"]


def test_a_pdlaunch_at_work_is_left_to_its_work(scripts: Scripts, pair: Pair) -> None:
    pair.broken = True
    note = scripts.folder / "writer.lock"
    note.write_text('{"operation": "up", "process": ' + this_process().model_dump_json() + "}")
    assert scripts.run("rejoin.py") == (0, "`pdlaunch up` is at work and asks by itself: nothing to do here\n")
    assert scripts.restarted() == []
    gone = this_process().model_copy(update={"started": 1, "pid": os.getpid()})
    note.write_text('{"operation": "up", "process": ' + gone.model_dump_json() + "}")
    scripts.run("rejoin.py")
    assert scripts.restarted() == ["pd-d-prefill-0.service"]
