"""What waits for a confirmation, and who is told that it cannot."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.errors import InputError, PdlaunchError
from launcher.operations.confirming import CONFIRMED, keep_unconfirmed, must_wait, waiting_for
from launcher.store import Event, Store
from launcher.store.unconfirmed import NAME, Unconfirmed, remove_unconfirmed, unconfirmed, write_unconfirmed

from ...deployments import Deployment, aggregated, pdlaunch

LATER = dt.datetime(2099, 12, 1, 20, 31, tzinfo=dt.UTC)


@pytest.fixture
def served(tmp_path: Path, free_port: Callable[[], int]) -> Store:
    """A deployment that has two generations, the second current; nothing runs."""
    store = aggregated(tmp_path, free_port, "one").store
    for number in (1, 2):
        store.layout.generation(number).mkdir(parents=True)
    store.set_current(2, by="anna")
    return store


def note(generation: int) -> Unconfirmed:
    return Unconfirmed(generation=generation, former=1, until=LATER, by="anna", why=None)


def test_a_note_counts_while_its_generation_is_current(served: Store) -> None:
    assert waiting_for(served) is None
    write_unconfirmed(served.layout, note(2))
    assert waiting_for(served) == must_wait(served) == note(2)
    served.set_current(1, by="anna")
    assert waiting_for(served) is None
    with pytest.raises(InputError, match="too late: generation 2 was left, generation 1 is the current one"):
        must_wait(served)
    remove_unconfirmed(served.layout)
    remove_unconfirmed(served.layout)
    assert unconfirmed(served.layout) is None


def test_what_was_not_confirmed_in_time_can_be_brought_back(served: Store) -> None:
    with pytest.raises(InputError, match="nothing of one waits for a confirmation"):
        must_wait(served)
    served.journal.append(Event(what="not confirmed", by="pdlaunch", generation=2))
    with pytest.raises(InputError, match="too late: generation 2 was not confirmed in time") as late:
        must_wait(served)
    assert late.value.hint == "bring it back: pdlaunch rollback --to 2 -d one"


def test_a_note_that_somebody_edited_is_told(served: Store) -> None:
    (served.layout.state / NAME).write_text("{}")
    with pytest.raises(PdlaunchError, match="was edited and says no longer what is to be confirmed"):
        waiting_for(served)


def test_going_back_to_what_was_left_confirms_it(served: Store) -> None:
    write_unconfirmed(served.layout, note(2))
    keep_unconfirmed(served, 1, by="anna", why=None)
    assert unconfirmed(served.layout) == note(2)
    keep_unconfirmed(served, 2, by="anna", why="it was good")
    assert unconfirmed(served.layout) is None
    assert served.journal.events()[-1].what == CONFIRMED


@pytest.fixture
def one(tmp_path: Path, free_port: Callable[[], int]) -> Deployment:
    return aggregated(tmp_path, free_port, "one")


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (("--confirm", "soon"), "--confirm 'soon' is no time: write 90s, 30m or 2h", None),
        (("--confirm", "0s"), "--confirm '0s' is no time: write 90s, 30m or 2h", None),
        (
            ("--confirm", "30m"),
            "under supervisord nothing returns by itself: no timer of it would outlive a restart of the machine",
            "--confirm needs the systemd backend; here: pdlaunch rollback --to -1",
        ),
        (
            ("--confirm", "30m", "--dry-run"),
            "under supervisord nothing returns by itself: no timer of it would outlive a restart of the machine",
            "--confirm needs the systemd backend; here: pdlaunch rollback --to -1",
        ),
    ],
)
def test_what_cannot_be_promised_is_refused(
    one: Deployment, words: tuple[str, ...], error: str, hint: str | None
) -> None:
    done = pdlaunch("up", str(one.profile), *words)
    said = [line for line in done.stderr.splitlines() if line.startswith(("error", "hint"))]
    assert (done.returncode, said) == (2, [f"error: {error}", *([f"hint: {hint}"] if hint else [])])
    assert one.store.numbers() == ()


def test_nothing_waits(served: Store) -> None:
    done = pdlaunch("confirm", "-d", "one")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: nothing of one waits for a confirmation\nhint: pdlaunch status -d one\n"
    assert pdlaunch("confirm", "--dry-run", "-d", "one").returncode == 2
