"""What the way back needs: each thing that can go is taken away, and told, worst first."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from launcher.errors import InputError
from launcher.observe.upgrades import Upgrade
from launcher.operations import threats, verifying
from launcher.operations.pruning import RECENT
from launcher.operations.receipts import write_receipts
from launcher.operations.starting import start_of
from launcher.operations.verifying import Verified, verify
from launcher.store import Store, give_name, layout

from ..store.making import BUNDLE, PROFILE, a_plan, a_service


def sealed(folder: Path, **settings: Any) -> Store:
    """A simulator's generation as `up` records it, with its receipt, without starting it."""
    profile = folder / "agg.yaml"
    ports = {"port": 12000, "nccl_port": 12001}
    profile.write_text(
        yaml.safe_dump({"name": "agg", "engine": {"kind": "simulator"}, "aggregated": ports, **settings})
    )
    store = Store(layout("agg"))
    generation, _ = start_of(profile).seal(store, "anna", None)
    write_receipts(generation, store, by="anna")
    store.set_current(generation.number, by="anna")
    return store


def told(found: Verified) -> list[tuple[str, str]]:
    return [(finding.kind, finding.what) for finding in found.findings]


def test_all_is_there(tmp_path: Path) -> None:
    store = sealed(tmp_path)
    give_name(store, "noon", 1, by="anna")
    for deep in (False, True):
        found = verify(store, deep=deep)
        assert (found.generations, found.names, found.sound, told(found)) == ((1,), {"noon": 1}, True, [])


def test_what_never_served_and_has_no_name_is_not_looked_at(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither served nor has it a name"):
        verify(Store(layout("agg")))
    store = sealed(tmp_path)
    sealed(tmp_path, stop={"drain": "9s"})
    assert verify(store).generations == (2,)
    give_name(store, "noon", 1, by="anna")
    assert verify(store).generations == (2, 1)
    assert verify(store, "1").generations == (1,)


def test_an_edited_script_and_a_lost_source_file(tmp_path: Path) -> None:
    store = sealed(tmp_path)
    generation = store.generation(1)
    script = generation.path / "aggregated-0.sh"
    script.chmod(0o644)
    script.write_text("#!/bin/sh\n")
    (lost,) = (generation.path / "engine").resolve().rglob("scheduler.py")
    lost.parent.chmod(0o755)
    lost.unlink()
    found = verify(store)
    assert not found.sound
    whats = [what for kind, what in told(found) if kind == "missing"]
    assert whats[0] == "aggregated-0.sh was cut short or edited"
    assert whats[1].endswith("scheduler.py is missing")


def test_a_secret_that_is_gone(tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("x")
    secret.chmod(0o600)
    store = sealed(tmp_path, engine={"kind": "simulator", "secrets": {"HF_TOKEN": str(secret)}})
    assert verify(store).sound
    secret.unlink()
    found = verify(store)
    assert (found.sound, told(found)) == (False, [("missing", f"secret {secret} is gone")])


def planned(folder: Path, program: str, *, gpus: tuple[int, ...] = (), model: Path | None = None) -> Store:
    """One generation that starts `program`, on cards or without."""
    store = Store(layout("tiny"))
    service = a_service("aggregated-0")
    head = service.argv[0].model_copy(update={"words": (program, *service.argv[0].words[1:])})
    service = service.model_copy(update={"argv": (head, *service.argv[1:]), "gpus": gpus})
    path = model or folder / "model"
    path.mkdir(exist_ok=True)
    plan = a_plan(service).model_copy(update={"model_path": str(path)})
    number = store.commit(PROFILE, plan, BUNDLE, snapshot_digest=None, by="anna").number
    store.set_current(number, by="anna")
    return store


def test_an_environment_whose_python_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "python3.11"
    link = tmp_path / "venv" / "python"
    link.parent.mkdir()
    link.symlink_to(gone)
    store = planned(tmp_path, str(link))
    (finding,) = (f for f in verify(store).findings if f.kind == "missing")
    assert finding.what == f"program {link} is a link to {gone}, which is gone"
    gone.write_text("")
    assert f"program {link} cannot be executed" in [what for _, what in told(verify(store))]


def test_without_a_receipt_nobody_can_tell(tmp_path: Path) -> None:
    found = verify(planned(tmp_path, sys.executable))
    assert found.sound
    said = "generation 1 has no receipt: packages, driver and model are not compared"
    assert told(found) == [("unknown", said)]


def test_weights_that_were_replaced_and_files_that_are_gone(tmp_path: Path) -> None:
    store = planned(tmp_path, sys.executable)
    model = tmp_path / "model"
    (model / "config.json").write_text("{}")
    (model / "w.safetensors").write_text("w" * 10)
    write_receipts(store.generation(1), store, by="anna")
    assert told(verify(store)) == []
    (model / "w.safetensors").write_text("w" * 11)
    (model / "config.json").unlink()
    first, second = verify(store).findings
    assert (first.kind, first.what.startswith("model config.json: "), first.fix) == (
        "missing",
        True,
        f"put that file back into {model}",
    )
    assert (second.kind, second.what.startswith("model w.safetensors: ")) == ("differs", True)
    for path in model.iterdir():
        path.unlink()
    model.rmdir()
    assert told(verify(store)) == [("missing", f"model {model} is gone")]


def test_a_model_in_a_download_cache_may_go(tmp_path: Path) -> None:
    snapshot = tmp_path / "models--x--y" / "snapshots" / ("3a" * 20)
    refs = snapshot.parents[1] / "refs"
    snapshot.mkdir(parents=True)
    refs.mkdir()
    store = planned(tmp_path, sys.executable, model=snapshot)
    write_receipts(store.generation(1), store, by="anna")
    (refs / "main").write_text("b4" * 20)
    found = verify(store)
    ((kind, what),) = told(found)
    assert (kind, found.sound) == ("soon", True)
    assert what == (
        f"model {snapshot} is revision 3a3a3a3a3a3a in a download cache, and b4b4b4b4b4b4 was downloaded since: "
        "cleaning it takes it away"
    )


def test_an_upgrade_of_the_driver_is_told_only_of_what_uses_cards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade = Upgrade("nvidia-driver-595", "595.71", "600.1")
    monkeypatch.setattr(threats, "pending_upgrades", lambda: (upgrade,))
    store = planned(tmp_path, sys.executable)
    write_receipts(store.generation(1), store, by="anna")
    assert told(verify(store)) == []
    store = planned(tmp_path, sys.executable, gpus=(0, 1))
    write_receipts(store.generation(2), store, by="anna")
    (finding,) = verify(store).findings
    assert (finding.kind, finding.fix) == ("soon", "apt-mark hold nvidia-driver-595")
    assert "nvidia-driver-595 595.71 -> 600.1" in finding.what
    monkeypatch.setattr(threats, "pending_upgrades", lambda: "apt-get does not say: E")
    assert told(verify(store)) == [("unknown", "apt-get does not say: E")]


def test_what_the_next_prune_takes_has_no_name(tmp_path: Path) -> None:
    store = planned(tmp_path, sys.executable)
    for _ in range(RECENT):
        planned(tmp_path, sys.executable)
    (finding,) = (f for f in verify(store, "1").findings if f.kind == "soon")
    assert finding.what == "the next prune removes generation 1: it has no name"
    give_name(store, "noon", 1, by="anna")
    assert not any(f.kind == "soon" for f in verify(store).findings)


def test_the_same_of_several_generations_is_one_finding_and_the_worst_is_first(tmp_path: Path) -> None:
    secret = tmp_path / "gone"
    secret.write_text("x")
    secret.chmod(0o600)
    store = sealed(tmp_path, engine={"kind": "simulator", "secrets": {"HF_TOKEN": str(secret)}})
    sealed(tmp_path, engine={"kind": "simulator", "secrets": {"HF_TOKEN": str(secret)}}, stop={"drain": "9s"})
    give_name(store, "noon", 1, by="anna")
    secret.unlink()
    (finding,) = verify(store).findings
    assert finding.generations == (2, 1)
    kinds = [verifying.ORDER.index(f.kind) for f in verify(store).findings]
    assert kinds == sorted(kinds)
