"""`good` by what was served, and what keeps it from being pruned."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from launcher.cli import history_view
from launcher.errors import InputError
from launcher.operations.confirming import EXPIRED
from launcher.operations.evidence import Evidence, Good, evidence, good, good_of, hours, how_far, summary
from launcher.operations.generations import meant
from launcher.operations.history import detail, history
from launcher.operations.proof import proof
from launcher.operations.proven_before import proven_before
from launcher.operations.pruning import to_prune
from launcher.operations.verifying import verify
from launcher.store import Event, Store
from launcher.store.served import NAME, Record, Served, served, write_record

from ..store.making import a_generation, a_plan, a_service, a_store

NOW = dt.datetime(2026, 12, 1, 20, 30, tzinfo=dt.UTC)


def at(clock: str) -> dt.datetime:
    hour, minute = clock.split(":")
    return NOW.replace(hour=int(hour), minute=int(minute))


def row(*, traffic: float = 5760.0, **more: Any) -> Served:
    base = {"since": at("11:46"), "until": at("13:22"), "seconds": 5760.0, "requests": 1204, "longest": 187_344}
    return Served.model_validate({**base, "traffic": traffic, **more})


def afternoon(*steps: tuple[str, int, str]) -> list[Event]:
    """Events of operations: when, to which generation, by which one."""
    events = []
    for clock, number, operation in steps:
        events.append(Event(what="current", by="anna", generation=number, at=at(clock)))
        details = {"operation": operation, "outcome": "done"}
        events.append(Event(what="finished", by="anna", generation=number, at=at(clock), details=details))
    return events


AFTERNOON = afternoon(("11:46", 37, "up"), ("13:22", 38, "up"), ("16:12", 39, "up"), ("20:03", 43, "up"))


def choose(served: dict[int, Served], there: set[int] | None = None, events: list[Event] = AFTERNOON) -> Good | None:
    return good(evidence(events, served, NOW).values(), there or {37, 38, 39, 43})


def test_good_is_the_newest_that_served_an_hour_of_traffic_and_nothing_went_wrong() -> None:
    found = choose({37: row(), 38: row(traffic=120.0), 39: row(hangs=1, hung=at("16:30")), 43: row(deaths=1)})
    assert found == Good(37, "1 h 36 min, 1,204 requests, longest 187k tokens, no hang", by_traffic=True)
    assert choose({37: row(), 38: row()}) == Good(38, found.words, by_traffic=True)
    assert choose({37: row(), 38: row()}, there={37, 39}) == found, "38 was pruned"


def test_what_was_left_by_a_rollback_is_not_good_and_what_was_gone_back_to_is() -> None:
    events = afternoon(("11:46", 37, "up"), ("13:22", 38, "up"), ("18:00", 37, "rollback"))
    assert choose({37: row(), 38: row()}, events=events) == choose({37: row()}, events=events)
    forward = afternoon(("11:46", 38, "up"), ("13:22", 37, "rollback"), ("18:00", 38, "rollback"))
    there = {37, 38}
    assert {n: e.left for n, e in evidence(forward, {}, NOW).items()} == {38: True, 37: False}
    chosen = good(evidence(forward, {37: row(), 38: row()}, NOW).values(), there)
    assert chosen is not None
    assert chosen.generation == 37


def test_what_nobody_confirmed_in_time_is_not_good() -> None:
    events = [*AFTERNOON, Event(what=EXPIRED, by="root", generation=43, at=at("20:20"))]
    assert choose({37: row(), 43: row()}, events=events) == choose({37: row()})


def test_where_nobody_watched_time_alone_speaks_and_says_so() -> None:
    found = choose({})
    assert found == Good(39, "it ran 3 h 51 min, and nobody watched its traffic", by_traffic=False)
    assert choose({39: row(requests=0, traffic=0.0)}) == Good(
        38, "it ran 2 h 50 min, and nobody watched its traffic", by_traffic=False
    ), "one that was watched and had no traffic does not count as one that nobody watched"
    assert choose({}, events=afternoon(("20:03", 43, "up"))) is None


def test_words() -> None:
    assert summary(None, 90.0) == "1 min, nobody watched its traffic"
    assert summary(row(requests=0), 1.0) == "1 h 36 min watched, no request completed"
    assert summary(row(requests=1, longest=0, seconds=59.0), 1.0) == "59 s, 1 request, no hang"
    today = dt.datetime.now().astimezone().replace(hour=0, minute=1)
    assert summary(row(hangs=2, hung=today, deaths=1), 1.0) == (
        "1 h 36 min, 1,204 requests, longest 187k tokens, hung 00:01 and 1 more time, 1 service died"
    )
    assert summary(row(hangs=1, hung=at("20:24").replace(year=2020)), 1.0).startswith("1 h 36 min, 1,204 requests")
    assert (hours(7200), hours(60), hours(59)) == ("2 h", "1 min", "59 s")
    assert how_far(65_536, 187_344, 262_144) == "to 65k by probe, to 187k by traffic, of 262k tokens"
    assert how_far(65_536, 187_344, None) == "to 65k tokens by probe, to 187k by traffic"
    assert how_far(None, 41_310, 262_144) == "to 41k of 262k tokens by traffic"
    assert how_far(513, None, 8192) == "to 513 of 8,192 tokens by probe"
    assert how_far(None, None, 8192) is None


def a_day(folder: Path) -> Store:
    """Three generations; the first served well, the second hung, the third was not watched."""
    store = a_store(folder, 3)
    for number, minutes in ((1, 300), (2, 100), (3, 5)):
        began = dt.datetime.now().astimezone() - dt.timedelta(minutes=minutes)
        store.journal.append(Event(what="current", by="anna", generation=number, at=began))
    store.set_current(3, by="anna")
    store.journal.append(Event(what="proved", by="anna", generation=1, details={"tokens": 65_536}))
    hung = dt.datetime.now().astimezone() - dt.timedelta(minutes=20)
    rows = {1: row(), 2: row(traffic=60.0, requests=19, longest=71_000, hangs=1, hung=hung)}
    write_record(store.layout, Record(generations=rows))
    return store


def test_history_shows_it(tmp_path: Path) -> None:
    store = a_day(tmp_path)
    third, second, first = history(store)
    assert (third.requests, third.hung, third.good) == (None, None, False)
    assert (second.requests, second.longest, second.hangs, second.good) == (19, 71_000, 1, False)
    assert (first.requests, first.longest, first.hung, first.good, first.traffic) == (1204, 187_344, None, True, 5760.0)
    lines = history_view.history((third, second, first)).splitlines()
    assert lines[0].split() == ["gen", "since", "by", "why", "ran", "requests", "longest", "hung", "proven"]
    assert lines[1].split()[-5:] == ["?", "?", "?", "-", "serves"]
    assert lines[3].split()[-5:] == ["1,204", "187k", "-", "65k", "good"]
    assert second.hung is not None
    assert lines[2].split()[-4:] == ["19", "71k", second.hung[11:16], "-"]


def test_history_of_one_says_everything(tmp_path: Path) -> None:
    said = history_view.detail(detail(a_day(tmp_path), 1))
    assert said.startswith("generation 1  served, good\n")
    assert "  traffic     1 h 36 min, 1,204 requests, longest 187k tokens, no hang\n" in said
    assert "  longest     187,344 tokens at least\n" in said


def test_long_texts_are_cut_in_the_list_and_whole_in_the_detail(tmp_path: Path) -> None:
    store = a_store(tmp_path, 1)
    why = "port 31000, prefill-0's http port, is taken by pid 4711 (/usr/bin/python3 -m http.server 31000), " * 3
    failed = {"operation": "up", "outcome": "failed"}
    store.journal.append(Event(what="finished", by="anna", why=why, generation=1, details=failed))
    rows = history(store)
    listed = history_view.history(rows, width=100).splitlines()
    assert max(map(len, listed)) == 100
    assert "failed: port 31000" in listed[1]
    assert listed[1].endswith("…")
    assert why.strip() in history_view.detail(detail(store, 1))
    assert history_view.cut("two\nlines", 80) == "two …"


def test_good_is_a_generation_wherever_one_may_be_named_and_is_never_pruned(tmp_path: Path) -> None:
    store = a_day(tmp_path)
    said = "good is 1: 1 h 36 min, 1,204 requests, longest 187k tokens, no hang"
    assert (meant(store, "good").number, meant(store, "good").said) == (1, said)
    assert to_prune(store, 0).kept == {1: "good", 3: "current"}
    assert verify(store).generations == (3, 1)
    with pytest.raises(InputError, match="no generation has served an hour of traffic yet without a hang"):
        meant(a_store(tmp_path / "empty", 1), "good")


def test_a_damaged_record_is_no_evidence_and_no_obstacle(tmp_path: Path) -> None:
    store = a_day(tmp_path)
    (store.layout.state / NAME).write_text('{"format": 1, "generations": {"1": {"since"')
    assert served(store.layout) == {}
    found = good_of(store)
    assert found is not None
    assert not found.by_traffic
    (store.layout.state / NAME).write_text('{"format": 2}')
    assert served(store.layout) == {}


def test_what_is_proven_of_a_plan_before_it_starts(tmp_path: Path) -> None:
    store = a_day(tmp_path)
    plan = store.generation(1).plan
    assert str(proven_before(store, plan)) == "to 65k tokens by probe, 187k by traffic (1)"
    other = a_plan(a_service("prefill-0", chunk=9999), a_service("decode-0"), a_service("router"))
    assert str(proven_before(store, other)) == (
        "nothing yet for this combination; decode-0 unchanged, proven to 65k tokens by probe, 187k by traffic (1)"
    )
    new = a_plan(a_service("prefill-0", chunk=9999), a_service("decode-0", chunk=1), a_service("router"))
    assert str(proven_before(store, new)) == "nothing yet for this combination"


def test_proof_of_a_knob_by_value(tmp_path: Path) -> None:
    store = a_store(tmp_path, 2)
    a_generation(store, chunk=512)
    hung = at("20:24")
    rows = {1: row(), 2: row(requests=10, longest=300), 3: row(requests=19, longest=41_310, hangs=1, hung=hung)}
    write_record(store.layout, Record(generations=rows))
    usual, small = proof(store, "chunked-prefill-size")
    assert (usual.value, usual.generations, usual.requests, usual.longest) == ("4096", (1, 2), 1214, 187_344)
    assert str(usual) == "4096: 187,344 tokens, 1,214 requests, 3 h 12 min (1-2)"
    assert (small.value, small.hung) == ("512 on prefill-0, 4096 on decode-0 router", hung)
    assert str(small) == f"{small.value}: 41,310 tokens, 19 requests, 1 h 36 min, then hung (3)"
    (unset,) = proof(store, "SGLANG_SM120_MMA_TARGET_CTAS")
    assert (unset.value, unset.generations) == (None, (1, 2, 3))
    assert str(unset).startswith("unset: 187,344 tokens")


def test_evidence_is_told_in_words() -> None:
    assert str(Evidence(1, 90.0, NOW, False, None)) == "1 min, nobody watched its traffic"
