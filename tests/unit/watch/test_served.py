"""What is counted of a generation, whatever dies, is restarted or is asked by pdlaunch itself in between."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from launcher.store.served import Counted, Record, Served
from launcher.watch import Body, Counters, Finding, Look, Process, Server, Verdict
from launcher.watch import Service as Standing
from launcher.watch.served import follow, longest
from launcher.watch.verdict import State

EDGES = (100, 300, 1000, 10_000, 40_000, 100_000, inf)
HUNG = Finding("no-token", "decode-0", "hung", "no token for 12 s", since=1000.0)


@dataclass
class Decode:
    """A decode as its /metrics tell it."""

    pid: int = 10
    counters: Counters = field(default_factory=lambda: Counters(prompts=dict.fromkeys(EDGES, 0.0)))

    def completes(self, *requests: tuple[int, int], aborted: int = 0) -> None:
        """Requests of so many prompt and generated tokens end; the first `aborted` of them as aborts."""
        c = self.counters
        self.counters = replace(
            c,
            finished=c.finished + len(requests),
            aborted=c.aborted + aborted,
            prompt_tokens=c.prompt_tokens + sum(prompt for prompt, _ in requests),
            generated_tokens=c.generated_tokens + sum(more for _, more in requests),
            prompts={e: n + sum(prompt <= e for prompt, _ in requests) for e, n in c.prompts.items()},
        )

    def restarts(self) -> None:
        self.pid += 1
        self.counters = Counters(prompts=dict.fromkeys(EDGES, 0.0))


@dataclass
class Watching:
    """A watcher of one decode; the clock goes on by two seconds with each look."""

    decode: Decode = field(default_factory=Decode)
    record: Record = field(default_factory=Record)
    clock: float = 1000.0
    stamp: str = "1"
    boot: str = "boot"
    generation: int = 37

    def look(
        self,
        *,
        seconds: float = 2.0,
        changing: str | None = None,
        state: State = "idle",
        findings: Sequence[Finding] = (),
        gone: bool = False,
    ) -> Served | None:
        self.clock += seconds
        body = Body(Process(self.decode.pid, self.decode.pid * 7, "python"), since=self.clock)
        server = Server(self.clock, body, "yes", counters=self.decode.counters, counters_at=self.clock)
        servers = {"decode-0": Server(self.clock) if gone else server}
        look = Look(self.clock, self.clock + 5e8, self.generation, servers, changing=changing)
        verdict = Verdict(look.time, self.generation, state, self._standings(state), tuple(findings))
        self.record = follow(self.record, look, verdict, {"decode-0"}, boot=self.boot, stamp=self.stamp)
        self.record = Record.model_validate_json(self.record.model_dump_json(exclude_defaults=True))
        return self.record.generations.get(self.generation)

    def _standings(self, state: State) -> Mapping[str, Standing]:
        return {"decode-0": Standing("decode-0", "busy" if state == "busy" else "idle", 0, None)}

    def begins(self) -> Watching:
        """Two looks, of which the first is what later ones are compared with."""
        self.look()
        self.look()
        return self

    @property
    def served(self) -> Served:
        return self.record.generations[self.generation]


def test_requests_and_the_longest_are_counted_and_time_with_them() -> None:
    watching = Watching().begins()
    watching.decode.completes((187_000, 344))
    watching.look()
    watching.decode.completes((10, 1), (20, 1))
    served = watching.look(state="busy")
    assert served is not None
    assert (served.requests, served.longest, served.seconds) == (3, 187_344, 6.0)
    assert served.traffic == 4.0, "not the time before the first request"


def test_an_idle_deployment_has_hours_and_no_traffic() -> None:
    watching = Watching().begins()
    watching.decode.completes((10, 1))
    for _ in range(2000):
        watching.look()
    assert (watching.served.seconds, watching.served.requests) == (4002.0, 1)
    assert watching.served.traffic == 302.0, "a pause of five minutes is traffic still"


def test_what_pdlaunch_asks_is_no_traffic_and_what_it_stops_does_not_die() -> None:
    watching = Watching().begins()
    watching.look(changing="anna is running `restart`")
    watching.decode.restarts()
    watching.decode.completes((8193, 4))
    watching.look(changing="anna is running `restart`")
    watching.decode.completes((65_536, 4))
    watching.look()
    watching.look()
    assert (watching.served.requests, watching.served.longest, watching.served.deaths) == (0, 0, 0)
    watching.decode.completes((100, 1))
    assert watching.look() == watching.served
    assert (watching.served.requests, watching.served.longest) == (1, 101)


def test_an_operation_between_two_looks_is_seen_by_the_journal() -> None:
    watching = Watching().begins()
    watching.decode.restarts()
    watching.decode.completes((8193, 4))
    watching.stamp = "2"
    watching.look()
    watching.look()
    assert (watching.served.requests, watching.served.deaths) == (0, 0)


def test_a_death_counts_once_and_what_is_served_after_it_too() -> None:
    watching = Watching().begins()
    watching.look(gone=True, state="dead")
    watching.look(gone=True, state="dead")
    assert watching.served.deaths == 1
    watching.decode.restarts()
    watching.begins()
    watching.decode.completes((500, 5))
    watching.look()
    assert (watching.served.deaths, watching.served.requests, watching.served.longest) == (1, 1, 505)
    watching.decode.restarts()
    watching.look()
    assert watching.served.deaths == 2, "between two looks as well"


def test_a_reboot_is_no_death_and_nothing_is_lost_by_it() -> None:
    watching = Watching().begins()
    watching.decode.completes((500, 5))
    watching.look()
    before = watching.served
    watching.boot, watching.clock = "another", 20.0
    watching.decode.restarts()
    watching.begins()
    assert (watching.served.deaths, watching.served.requests) == (0, before.requests)
    assert watching.served.seconds == before.seconds + 2.0
    assert watching.served.traffic == before.traffic


def test_a_watcher_that_was_away_counts_what_was_completed_meanwhile() -> None:
    watching = Watching().begins()
    watching.decode.completes((500, 5), (600, 5))
    watching.look(seconds=3600.0)
    assert (watching.served.requests, watching.served.seconds) == (2, 12.0), "time without a look is not vouched for"


def test_a_hang_counts_once_with_its_beginning() -> None:
    watching = Watching().begins()
    for _ in range(3):
        watching.look(state="hung", findings=[HUNG])
    hung = watching.served
    assert (hung.hangs, hung.hung and hung.hung.timestamp(), hung.seconds) == (1, 1000.0, 2.0)
    watching.look()
    watching.look(state="hung", findings=[replace(HUNG, since=2000.0)])
    assert (watching.served.hangs, watching.served.hung) == (2, hung.hung)


def test_the_next_generation_begins_at_nothing() -> None:
    watching = Watching().begins()
    watching.decode.completes((500, 5))
    watching.look()
    watching.generation, watching.stamp = 38, "2"
    watching.look()
    assert watching.served.requests == 0
    assert watching.record.generations[37].requests == 1


def test_what_was_aborted_was_not_completed() -> None:
    watching = Watching().begins()
    watching.decode.completes((100_001, 3), (50, 1), (40, 1), aborted=1)
    watching.look()
    assert (watching.served.requests, watching.served.longest) == (2, 1), "the bucket of up to 100 tokens"
    watching.decode.counters = replace(watching.decode.counters, aborted=2.0)
    watching.look()
    watching.decode.completes((90_000, 3))
    watching.look()
    assert (watching.served.requests, watching.served.longest) == (2, 1), "an abort may end in a later look"


def counted(prompts: Sequence[tuple[int, int]], *, buckets: bool) -> Counted:
    lengths = sorted(prompt for prompt, _ in prompts)
    return Counted(
        at=float(len(prompts)),
        finished=float(len(prompts)),
        prompt_tokens=float(sum(lengths)),
        generated_tokens=float(sum(more for _, more in prompts)),
        prompts={e: float(bisect_left(lengths, e + 1)) for e in EDGES} if buckets else {},
    )


REQUESTS = st.lists(st.tuples(st.integers(1, 200_000), st.integers(0, 5_000)), max_size=20)


@given(REQUESTS, REQUESTS, st.booleans())
def test_the_longest_is_never_told_too_long(
    before: list[tuple[int, int]], after: list[tuple[int, int]], buckets: bool
) -> None:
    found = longest(counted(before, buckets=buckets), counted(before + after, buckets=buckets))
    most = max((prompt + more for prompt, more in after), default=0)
    assert found <= most
    assert len(after) != 1 or found == most, "one request is told exactly"
    assert not after or found > 0


@given(REQUESTS, st.integers(1, 5))
def test_with_aborts_only_the_buckets_tell(requests: list[tuple[int, int]], aborted: int) -> None:
    found = longest(counted([], buckets=True), counted(requests, buckets=True), float(aborted))
    completed = sorted(prompt for prompt, _ in requests)[: max(0, len(requests) - aborted)]
    assert found <= max(completed, default=0)


@given(st.lists(st.one_of(st.just("restarts"), st.tuples(st.integers(1, 1000), st.integers(0, 9))), max_size=40))
def test_whatever_restarts_in_between_nothing_counts_twice(steps: list[str | tuple[int, int]]) -> None:
    watching = Watching().begins()
    expected = 0
    for step in steps:
        if isinstance(step, tuple):
            watching.decode.completes(step)
            expected += 1
            watching.look()
        else:
            watching.decode.restarts()
            watching.begins()
    assert watching.served.requests == expected
    assert watching.served.deaths == steps.count("restarts")
    assert watching.served.longest == max((sum(s) for s in steps if isinstance(s, tuple)), default=0)


@given(st.lists(st.sampled_from(["look", "away", "complete"]), max_size=30))
def test_intervals_add_up_however_often_the_watcher_is_restarted(steps: list[str]) -> None:
    """The record goes through its JSON with each look, as it does when a watcher ends and another begins."""
    watching, ended = Watching().begins(), 0
    began = watching.served.seconds
    for step in steps:
        if step == "complete":
            watching.decode.completes((10, 1))
            ended += 1
        watching.look(seconds=60.0 if step == "away" else 2.0)
    assert watching.served.requests == ended
    assert watching.served.seconds == began + sum(10.0 if step == "away" else 2.0 for step in steps)
