from __future__ import annotations

import pytest

from launcher.compare.card_drift import card_findings
from launcher.compare.drift import Finding
from launcher.lock.receipt import Gpu
from launcher.observe.card import Absent, Cards
from launcher.observe.cards import cards
from launcher.plan import Service

from ...nvml import Nvml
from ..store.making import a_service

PREFILL = a_service("prefill-0").model_copy(update={"gpus": (0, 1)})
DECODE = a_service("decode-0").model_copy(update={"gpus": (2,)})
ROUTER = a_service("router")
PIDS = {"prefill-0": (40, 41), "decode-0": (50,)}
RUNNING = {40: "python -m sglang.launch_server", 50: "python", 77: "python train.py"}


def seen() -> Cards:
    found = cards()
    assert isinstance(found, Cards), found
    return found


def found(
    asked: Cards | Absent, *services: Service, pids: dict[str, tuple[int, ...]] | None = None, **recorded: Gpu
) -> list[Finding]:
    known = {gpu.index: gpu for gpu in recorded.values()}
    return list(card_findings(services, asked, PIDS if pids is None else pids, known, RUNNING.get))


def test_our_own_are_no_strangers(nvml: Nvml) -> None:
    nvml.box("process 40 30000", "process 41 30000", "process 50 60000")
    assert found(seen(), PREFILL, DECODE, ROUTER) == []


def test_who_else_has_memory_on_a_card_is_named(nvml: Nvml) -> None:
    nvml.box("process 40 30000\nprocess 77 38000", "", "process 50 60000")
    (finding,) = found(seen(), PREFILL, DECODE)
    assert (finding.kind, finding.alarm) == ("foreign", True)
    assert str(finding) == "prefill-0  gpu 0: pid 77 (python train.py) has 38000 MiB on it"


def test_memory_of_a_process_that_is_gone(nvml: Nvml) -> None:
    nvml.box("process 40 30000\nprocess 99 38000")
    (finding,) = found(seen(), PREFILL)
    assert finding.subject == "gpu 0: pid 99 (a process that is gone) has 38000 MiB on it"


def test_a_card_of_a_service_that_does_not_run(nvml: Nvml) -> None:
    nvml.box("", "", "process 99 38000")
    (finding,) = found(seen(), DECODE, pids={})
    assert (finding.kind, finding.service) == ("foreign", "decode-0")


def test_cards_that_nobody_uses_are_nobodys_business(nvml: Nvml) -> None:
    nvml.box("", "", "", "process 77 1000")
    assert found(seen(), PREFILL, DECODE) == []


def test_numbers_of_the_host_are_not_judged_in_a_container(nvml: Nvml) -> None:
    nvml.box("process 91234 30000\nprocess 91235 100", "process 91234 30000")
    kinds = [(finding.kind, finding.subject) for finding in found(seen(), PREFILL)]
    assert kinds == [
        ("unchecked", f"gpu {index}: the driver's pids are those of another namespace") for index in (0, 1)
    ]


def test_another_card_in_its_place(nvml: Nvml) -> None:
    nvml.box()
    now = seen().cards[2].uuid
    then = Gpu(index=2, uuid="GPU-91b2", pci="0000:12:00.0", model="x")
    same = Gpu(index=0, uuid=seen().cards[0].uuid, pci="0000:10:00.0", model="x")
    (finding,) = found(seen(), PREFILL, DECODE, then=then, same=same)
    assert finding == Finding("changed", "decode-0", "gpu 2", "GPU-91b2", now)


def test_a_card_that_does_not_answer_any_more(nvml: Nvml) -> None:
    nvml.box(count=2)
    (finding,) = found(seen(), PREFILL, DECODE)
    assert (finding.kind, finding.subject) == ("changed", "gpu 2 does not answer: there is none of that number")


@pytest.mark.parametrize("services", [(PREFILL,), (ROUTER,)])
def test_without_a_driver_only_who_uses_cards_hears_of_it(services: tuple[Service, ...]) -> None:
    said = [str(finding) for finding in found(Absent("library", "no NVIDIA driver is installed"), *services)]
    assert said == (["the cards: no NVIDIA driver is installed"] if services[0].gpus else [])
