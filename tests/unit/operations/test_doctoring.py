"""What `up` asks the machine before it stops anything, with a stand-in for NVIDIA's library."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from launcher.errors import PdlaunchError
from launcher.lock.receipt import Gpu, Host, ModelFiles, Receipt
from launcher.lock.record import Taken
from launcher.observe.folders import Folder
from launcher.operations import gathering
from launcher.operations.doctoring import doctor, examine_card, require_healthy
from launcher.operations.receipts import keep_receipt
from launcher.plan.model import EngineUse, Plan, Service
from launcher.profile.model import Waiver
from launcher.store import Store

from ...nvml import Nvml
from ..store.making import a_plan, a_service, a_store

TOOLS = {"nvcc": "/x/nvcc", "ninja": "/x/ninja"}


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """One server on cards 4 and 5 of a box that has all it needs."""
    monkeypatch.setattr(gathering, "tools", lambda _: TOOLS)
    monkeypatch.setattr(gathering, "toolkit", lambda _: "13.0")
    (tmp_path / "model").mkdir()
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / "model" / name).write_text("{}")
    server: Service = a_service("aggregated-0").model_copy(update={"gpus": (4, 5)})
    return a_plan(server).model_copy(
        update={
            "engine": EngineUse(kind="sglang", version="0.5.23"),
            "model_path": str(tmp_path / "model"),
        }
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return a_store(tmp_path)


def refusal(plan: Plan, store: Store) -> str:
    with pytest.raises(PdlaunchError) as caught:
        require_healthy(plan, store)
    assert caught.value.exit_code == 1
    assert caught.value.message.startswith("this machine cannot serve it now, and nothing was stopped:\n")
    return caught.value.message


def test_a_healthy_box_stops_nobody(plan: Plan, store: Store, nvml: Nvml) -> None:
    nvml.box()
    require_healthy(plan, store)


def test_all_that_is_in_the_way_is_said_at_once_each_with_its_fix(plan: Plan, store: Store, nvml: Nvml) -> None:
    nvml.box("", "", "", "", "mig 1", "process 4194999 60000")
    said = refusal(plan, store)
    assert "DR107  GPU 4 is cut into MIG slices" in said
    assert "DR105  GPU 5: 58.6 GiB of pid 4194999, which cannot be seen from here" in said
    assert "DR106  aggregated-0: GPU 5 has 36.5 GiB free, another one 95.1 GiB" in said
    assert said.count("  fix  ") == 3


def test_cards_of_others_are_none_of_its_business(plan: Plan, store: Store, nvml: Nvml) -> None:
    nvml.box("process 4194999 60000\nmig 1")
    require_healthy(plan, store)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("init 9\n", "the driver is not loaded"),
        ("init 18\n", "of another version than the loaded driver"),
        ("gpu\n" * 4 + "gpu\nlost 1\n" + "gpu\n", "GPU 4 does not answer: GPU is lost"),
        ("gpu\n" * 5, "aggregated-0 wants GPU 5, and this machine has 5 cards"),
    ],
)
def test_a_driver_that_says_nothing_good(plan: Plan, store: Store, nvml: Nvml, lines: str, reason: str) -> None:
    nvml.says(lines)
    assert reason in refusal(plan, store)


def test_a_card_that_is_another_one_than_at_the_last_start(
    plan: Plan, store: Store, nvml: Nvml, monkeypatch: pytest.MonkeyPatch
) -> None:
    nvml.box()
    uuids = {4: "GPU-00000004-0000-0000-0000-000000000000", 5: "GPU-00000007-0000-0000-0000-000000000000"}
    gpus = tuple(Gpu(index=i, uuid=uuid, pci="x", model=None) for i, uuid in uuids.items())
    machine = Host(
        name="box", kernel="6", cpu=None, cpus=2, numa_nodes=1, memory=1, shared_memory=None, driver=None, gpus=gpus,
        settings={}, limits={},
    )  # fmt: skip
    receipt = Receipt(
        deployment="tiny",
        generation=1,
        lock=None,
        about=Taken(at=dt.datetime(2026, 12, 1, tzinfo=dt.UTC), by="anna", pdlaunch="0"),
        machine=machine,
        model=ModelFiles(path="/m", present=False, files={}),
        packages=None,
        secrets={},
    )
    keep_receipt(receipt, store)
    monkeypatch.setattr(store, "current", lambda: 1)
    said = refusal(plan, store)
    assert "GPU 5 is GPU-00000005" in said
    assert "and was GPU-00000007-0000-0000-0000-000000000000 at the last start: that one is GPU 7 now" in said
    assert "GPU 4 is" not in said


def test_a_waiver_lets_it_start(plan: Plan, store: Store, nvml: Nvml) -> None:
    nvml.box("", "", "", "", "", "process 4194999 3000")
    today = dt.datetime.now().astimezone().date()
    waiver = Waiver(what="DR105", why="a monitor of ours", by="anna", until=today)
    assert "DR105" in refusal(plan, store)
    require_healthy(plan.model_copy(update={"allowed": (waiver,)}), store)


def test_without_cards_nobody_asks_for_them(
    store: Store, nvml: Nvml, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nvml.says("init 9\n")
    monkeypatch.setattr(gathering, "cards", lambda: pytest.fail("asked"))
    simulated = a_plan().model_copy(update={"engine": EngineUse(kind="simulator", version="1")})
    require_healthy(simulated, store)


def test_a_full_disk_stops_a_start_of_what_writes_much(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "folder", lambda path: Folder(str(path), 1 << 20, False, False))
    assert "DR404  1 MiB are free for" in refusal(a_plan(), store)
    require_healthy(a_plan().model_copy(update={"engine": EngineUse(kind="simulator", version="1")}), store)


def test_one_card_by_itself(nvml: Nvml) -> None:
    nvml.box("", "process 4194999 3000")
    found = examine_card(1)
    assert [f.code for f in found.verdict.findings if f.level == "warning" and "4194999" in f.text] == ["DR105"]
    assert found.subject == "GPU 1"
    assert {f.code[:3] for f in found.verdict.findings} <= {"DR1", "DR2"}
    assert not any("4194999" in f.text for f in examine_card(2).verdict.findings)


def test_one_card_that_is_not_there(nvml: Nvml) -> None:
    nvml.box(count=2)
    with pytest.raises(PdlaunchError, match="there is no GPU 5"):
        examine_card(5)
    nvml.says("init 9\n")
    with pytest.raises(PdlaunchError, match="no GPU can be asked: the NVIDIA library is here"):
        examine_card(0)


def test_a_machine_without_deployments_is_examined_by_itself(nvml: Nvml) -> None:
    nvml.box(count=4)
    found = doctor(None, None)
    assert found.subject == "this machine"
    assert "4x NVIDIA RTX PRO 6000 Blackwell Server Edition, driver 595.71.05, up to CUDA 13.0" in [
        f.text for f in found.verdict.of("ok")
    ]
