"""What is told of a change, and that nothing is told twice."""

from __future__ import annotations

from launcher.watch import Process, Verdict
from launcher.watch.story import changes, deaths

from .making import EPOCH, Watching, body, front


def lines(before: Verdict | None, after: Verdict) -> list[str]:
    return list(changes(before, after))


def test_a_hang_is_told_once_and_its_end_with_how_long_it_took() -> None:
    watching = Watching()
    first = watching.look()
    assert lines(None, first) == ["generation 1: idle"]
    watching.say("decode-0", running=2, steps=1.0)
    before = watching.wait(10)
    hung = watching.wait(4)
    assert lines(before, hung) == ["decode-0 hung: 2 requests running, no token for 12 s"]
    assert lines(hung, watching.look()) == []
    watching.say("decode-0", steps=2.0)
    assert lines(hung, watching.look()) == ["decode-0 recovered after 16 s"]


def test_a_warning_ends_too() -> None:
    watching = Watching()
    calm = watching.look()
    watching.router = front(decode_0={"circuit": 1})
    warned = watching.look()
    assert lines(calm, warned)[0].startswith("router warning: its circuit to decode-0 is open")
    watching.router = front()
    assert lines(warned, watching.look())[0].startswith("router: over after 2 s: ")


def test_a_server_that_was_started_again_is_told_ready() -> None:
    watching = Watching()
    before = watching.look()
    watching.change("decode-0", body=body(400), ready=False)
    loading = watching.look()
    watching.change("decode-0", ready=True)
    assert lines(before, loading) == []
    assert lines(loading, watching.look()) == ["decode-0 ready"]


def test_deaths_and_starts_have_their_pids() -> None:
    lost = body(7, workers=(), lost=(Process(8, 7, "sglang::scheduler"),))
    assert list(deaths({"d": body(7)}, {}, EPOCH + 90)) == ["d died: pid 7 is gone after 1 min 30 s"]
    assert list(deaths({}, {"d": body(7)}, EPOCH)) == ["d started: pid 7"]
    assert list(deaths({"d": body(7)}, {"d": body(9)}, EPOCH)) == [
        "d died: pid 7 is gone after 0 s",
        "d started: pid 9",
    ]
    assert list(deaths({"d": body(7)}, {"d": lost}, EPOCH)) == [
        "d died: its process 8 (sglang::scheduler) is gone; pid 7 lingers without it"
    ]
    assert list(deaths({"d": lost}, {"d": lost}, EPOCH)) == []
