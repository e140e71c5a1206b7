"""Every port fixed up front, apart from each other and from whatever SGLang opens beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.errors import InputError
from launcher.plan.facts import DEFAULT_EPHEMERAL
from launcher.plan.ports import DP_PORTS, FIRST_BLOCK, WATCH, Wanted, assign
from launcher.store import resources

from .making import SIX, planned, service

SERVER = ("http", "nccl")


def test_what_nobody_wrote_comes_in_blocks_of_ten() -> None:
    found = assign(
        [
            Wanted("prefill-0", ("http", "nccl", "bootstrap"), {}),
            Wanted("decode-0", SERVER, {}),
            Wanted("router", ("http", "metrics"), {"http": 8000}),
        ],
        DEFAULT_EPHEMERAL,
    )
    assert {name: dict(a.ports) for name, a in found.items()} == {
        "prefill-0": {"http": 31000, "nccl": 31002, "bootstrap": 31003},
        "decode-0": {"http": 31010, "nccl": 31012},
        "router": {"http": 8000, "metrics": 31020},
    }


def test_written_ports_stay_and_the_others_go_around_them() -> None:
    found = assign(
        [
            Wanted("a", SERVER, {"http": 31012}),
            Wanted("b", SERVER, {"http": 30000, "nccl": 30001}),
            Wanted("c", SERVER, {}),
            Wanted("d", SERVER, {"nccl": 31020}),
            Wanted("e", SERVER, {}),
        ],
        DEFAULT_EPHEMERAL,
    )
    assert {name: dict(a.ports) for name, a in found.items()} == {
        "a": {"http": 31012, "nccl": 31002},
        "b": {"http": 30000, "nccl": 30001},
        "c": {"http": 31030, "nccl": 31032},
        "d": {"http": 31040, "nccl": 31020},
        "e": {"http": 31050, "nccl": 31052},
    }


def test_a_written_port_moves_nobody_else_s(tmp_path: Path) -> None:
    """Who gives one server a port of its own must not restart the others."""
    before = planned(tmp_path, SIX)
    after = planned(tmp_path, SIX.replace("decode: {gpus: 4-7}", "decode: {gpus: 4-7, nccl_port: 30500}"))
    assert service(after, "router").ports == service(before, "router").ports
    assert service(after, "decode-0").ports == {"http": 31010, "nccl": 30500}


def test_with_attention_dp_the_block_that_the_engine_opens_stays_free() -> None:
    found = assign([Wanted(f"s{n}", SERVER, {}, dp_attention=True) for n in range(30)], DEFAULT_EPHEMERAL)
    assert found["s0"].reserved == tuple(31000 + delta for delta in DP_PORTS)
    assert found["s0"].reserved == tuple(range(31233, 31240))
    every = [port for a in found.values() for port in (*a.ports.values(), *a.reserved)]
    assert len(every) == len(set(every))


def test_a_profile_asks_for_the_block_with_its_flag(tmp_path: Path) -> None:
    text = SIX.replace("decode: {gpus: 4-7}", "decode: {gpus: 4-7, dp: 4, args: {enable-dp-attention: true}}")
    plan = planned(tmp_path, text)
    assert service(plan, "decode-0").reserved == tuple(range(31243, 31250))
    assert service(plan, "prefill-0").reserved == ()


def test_when_the_range_is_used_up_it_says_who_got_none() -> None:
    wanted = [Wanted(f"s{n}", SERVER, {}) for n in range(200)]
    with pytest.raises(InputError) as caught:
        assign(wanted, DEFAULT_EPHEMERAL)
    assert caught.value.message == "no port left for s176 below the ephemeral range (32768-60999)"
    assert caught.value.hint is not None
    assert "nccl_port" in caught.value.hint
    assert len(assign(wanted[:176], DEFAULT_EPHEMERAL)) == 176


wants = st.lists(
    st.tuples(
        st.fixed_dictionaries({}, optional={"http": st.integers(30990, 31100), "nccl": st.integers(30990, 31100)}),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


@given(wants)
def test_assigned_ports_meet_nobody_s(drawn: list[tuple[dict[str, int], bool]]) -> None:
    """Written ones may collide with each other: the profile's own check finds that."""
    wanted = [Wanted(f"s{n}", SERVER, ports, dp) for n, (ports, dp) in enumerate(drawn)]
    found = assign(wanted, DEFAULT_EPHEMERAL)
    assert found == assign(wanted, DEFAULT_EPHEMERAL)
    every = [(w.service, use, port) for w in wanted for use, port in found[w.service].ports.items()]
    beside = {port for a in found.values() for port in a.reserved}
    for w in wanted:
        for use, port in found[w.service].ports.items():
            if use in w.written:
                assert port == w.written[use]
                continue
            assert FIRST_BLOCK <= port < DEFAULT_EPHEMERAL[0]
            assert [(s, u) for s, u, other in every if other == port] == [(w.service, use)]
            assert port not in beside


def test_the_watcher_s_metrics_lie_beside_the_router_s() -> None:
    found = assign(
        [Wanted("decode-0", SERVER, {}), Wanted("router", ("http", "metrics", WATCH), {"http": 8000})],
        DEFAULT_EPHEMERAL,
    )
    assert found["router"].ports == {"http": 8000, "metrics": 31010, WATCH: 31011}
    taken = Wanted("router", ("http", "metrics", WATCH), {"http": 31001, "metrics": 31011})
    assert assign([taken], DEFAULT_EPHEMERAL)["router"].ports[WATCH] == 31021, "neither block is free of them"


def test_a_watcher_s_port_can_be_written_and_restarts_nothing(tmp_path: Path) -> None:
    usual, other = planned(tmp_path, SIX), planned(tmp_path, f"{SIX}watch: {{metrics_port: 9100}}\n")
    assert (usual.watch.metrics_port, other.watch.metrics_port) == (31021, 9100)
    assert [s.digest() for s in usual.services] == [s.digest() for s in other.services]
    assert "port-9100" in resources(other)
    assert planned(tmp_path, f"{SIX}watch: {{on_hang: none}}\n").watch.metrics_port is None
    alone = "name: s\nengine: {kind: simulator}\naggregated: {}\n"
    assert planned(tmp_path, alone).watch.metrics_port is None
    assert planned(tmp_path, f"{alone}watch: {{metrics_port: 9100}}\n").watch.metrics_port == 9100
