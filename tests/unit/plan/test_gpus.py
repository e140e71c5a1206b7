"""One way to select cards, and all of them stay visible."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.plan.gpus import Selection, select

from .making import FACTS, SIX, env, flags, planned, service


@pytest.mark.parametrize(
    ("gpus", "selection"),
    [
        ((), None),
        ((0, 1, 2, 3), Selection(base=0)),
        ((4, 5, 6, 7), Selection(base=4)),
        ((3,), Selection(base=3)),
    ],
)
def test_cards_in_a_row_need_only_a_beginning(gpus: tuple[int, ...], selection: Selection | None) -> None:
    assert select(gpus, 8) == selection


@pytest.mark.parametrize(
    ("gpus", "every", "visible"),
    [
        ((0, 2), 4, "0,2,1,3"),
        ((1, 0), 2, "1,0"),
        ((3, 2, 1, 0), 8, "3,2,1,0,4,5,6,7"),
        ((0, 9), 4, "0,9,1,2,3,4,5,6,7,8"),
    ],
)
def test_holes_and_another_order_become_an_order_that_still_names_all(
    gpus: tuple[int, ...], every: int, visible: str
) -> None:
    found = select(gpus, every)
    assert found == Selection(
        base=0, visible=visible, note=f"a list with holes: CUDA_VISIBLE_DEVICES={visible} names all cards"
    )


@given(st.lists(st.integers(0, 15), unique=True, min_size=1, max_size=8), st.integers(1, 16))
def test_a_server_begins_at_its_first_card_and_no_card_is_hidden(gpus: list[int], every: int) -> None:
    found = select(tuple(gpus), every)
    assert found is not None
    order = list(map(int, found.visible.split(","))) if found.visible else list(range(max(every, *gpus, 15) + 1))
    assert order[found.base : found.base + len(gpus)] == gpus
    assert set(range(every)) <= set(order)
    assert len(order) == len(set(order))


def test_a_profile_s_list_with_holes_is_told_and_counted_by_this_machine_s_cards(tmp_path: Path) -> None:
    plan = planned(tmp_path, SIX.replace("0-3", "[0, 2, 4, 6]").replace("4-7", "[1, 3, 5, 7]"))
    prefill, decode = service(plan, "prefill-0"), service(plan, "decode-0")
    assert env(prefill)["CUDA_VISIBLE_DEVICES"] == "0,2,4,6,1,3,5,7"
    assert env(decode)["CUDA_VISIBLE_DEVICES"] == "1,3,5,7,0,2,4,6"
    assert (flags(prefill)["--base-gpu-id"], flags(decode)["--tp-size"]) == ("0", "4")
    assert [note.partition(":")[0] for note in plan.notes] == ["prefill-0", "decode-0"]
    assert "CUDA_VISIBLE_DEVICES" not in env(service(planned(tmp_path, SIX), "decode-0"))


def test_without_a_driver_the_cards_are_those_that_the_profile_speaks_of(tmp_path: Path) -> None:
    machine = FACTS.machine.model_copy(update={"gpus": None})
    plan = planned(tmp_path, SIX.replace("0-3", "[0, 2]"), FACTS.model_copy(update={"machine": machine}))
    assert env(service(plan, "prefill-0"))["CUDA_VISIBLE_DEVICES"] == "0,2,1,3,4,5,6,7"


def test_sizes_are_flags_and_tp_follows_the_cards(tmp_path: Path) -> None:
    text = SIX.replace("decode: {gpus: 4-7}", "decode: {gpus: 4-7, tp: 2, dp: 2, ep: 2}")
    found = flags(service(planned(tmp_path, text), "decode-0"))
    assert (found["--tp-size"], found["--dp-size"], found["--ep-size"]) == ("2", "2", "2")
    found = flags(service(planned(tmp_path, SIX), "decode-0"))
    assert (found["--tp-size"], "--dp-size" in found, "--ep-size" in found) == ("4", False, False)
