"""Receipts of a generation that nobody started; what runs is seen in the tests with real processes."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from launcher.errors import InputError, PdlaunchError
from launcher.operations import receipts
from launcher.operations.events import Event
from launcher.operations.receipts import (
    fingerprints,
    keep_receipts,
    read_observed,
    read_receipt,
    receipts_folder,
    take_receipt,
    write_receipts,
)
from launcher.operations.starting import start_of
from launcher.operations.weighing import weigh
from launcher.store import Generation, Store, layout

from ...deployments import Told

SECRET = "hf_s3cret-value"


def a_generation(folder: Path, **settings: Any) -> tuple[Generation, Store]:
    profile = folder / "agg.yaml"
    profile.write_text(
        yaml.safe_dump(
            {
                "name": "agg",
                "engine": {"kind": "simulator"},
                "aggregated": {"port": 12000, "nccl_port": 12001},
                **settings,
            }
        )
    )
    store = Store(layout("agg"))
    return start_of(profile).seal(store, "anna", None)[0], store


def secret_file(folder: Path, text: str = SECRET) -> Path:
    path = folder / "token"
    path.write_text(f"{text}\n")
    path.chmod(0o600)
    return path


def with_secret(folder: Path) -> tuple[Generation, Store]:
    path = secret_file(folder)
    return a_generation(folder, aggregated={"port": 12000, "nccl_port": 12001, "secrets": {"HF_TOKEN": str(path)}})


def test_receipts_lie_outside_the_generation_and_are_read_back(tmp_path: Path) -> None:
    generation, store = a_generation(tmp_path)
    assert (read_receipt(store, 1), read_observed(store, 1)) == (None, None)
    receipt, observed = write_receipts(generation, store, by="anna")
    assert (read_receipt(store, 1), read_observed(store, 1)) == (receipt, observed)
    assert store.verify(1) == []
    assert generation.lock is not None
    assert receipt.lock == observed.lock == generation.lock.intent.digest
    assert (receipt.deployment, receipt.generation, receipt.about.by) == ("agg", 1, "anna")
    assert (observed.services, receipt.model.present, receipt.packages) == ({}, False, None)


def test_a_later_start_takes_the_place_of_the_earlier_one(tmp_path: Path) -> None:
    generation, store = a_generation(tmp_path)
    write_receipts(generation, store, by="anna")
    write_receipts(generation, store, by="bert")
    found = read_receipt(store, 1)
    assert found is not None
    assert found.about.by == "bert"
    assert sorted(path.name for path in receipts_folder(store.layout, 1).iterdir()) == ["observed.yaml", "receipt.yaml"]


def test_an_edited_receipt_is_refused(tmp_path: Path) -> None:
    generation, store = a_generation(tmp_path)
    write_receipts(generation, store, by="anna")
    path = receipts_folder(store.layout, 1) / "receipt.yaml"
    path.write_text(path.read_text().replace("  cpus: ", "  cpus: 1"))
    with pytest.raises(InputError, match=f"{path}: machine was edited"):
        read_receipt(store, 1)


def test_a_secret_is_kept_as_a_fingerprint_that_shows_a_change(tmp_path: Path) -> None:
    generation, store = with_secret(tmp_path)
    first = take_receipt(generation, store, by="anna").secrets
    assert first.keys() == {"HF_TOKEN"}
    assert first == take_receipt(generation, store, by="anna").secrets
    secret_file(tmp_path, "another")
    second = take_receipt(generation, store, by="anna").secrets
    assert None not in {first["HF_TOKEN"], second["HF_TOKEN"]}
    assert first != second
    write_receipts(generation, store, by="anna")
    for path in store.layout.state.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes(), path


def test_the_key_of_the_fingerprints_is_nobody_elses(tmp_path: Path) -> None:
    generation, store = with_secret(tmp_path)
    found = fingerprints(generation.plan, store.layout)
    key = store.layout.state / "fingerprint.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert len(key.read_bytes()) == 32
    key.unlink()
    assert fingerprints(generation.plan, store.layout) != found


def test_a_secret_that_cannot_be_read_has_no_fingerprint(tmp_path: Path) -> None:
    generation, store = with_secret(tmp_path)
    (tmp_path / "token").unlink()
    assert fingerprints(generation.plan, store.layout) == {"HF_TOKEN": None}


def test_without_secrets_no_key_is_made(tmp_path: Path) -> None:
    generation, store = a_generation(tmp_path)
    assert fingerprints(generation.plan, store.layout) == {}
    assert not (store.layout.state / "fingerprint.key").exists()


def test_a_receipt_that_cannot_be_kept_is_told_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generation, store = a_generation(tmp_path)
    told = Told()

    def refuse(*_: object, **__: object) -> None:
        raise PdlaunchError("no space left")

    monkeypatch.setattr(receipts, "write_receipts", refuse)
    keep_receipts(generation, store, told, by="anna")
    assert told.events == [Event("receipt", "not kept: no space left")]


def test_weights_hashed_in_full_are_kept_in_the_receipt(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"w" * 100)
    (folder / "config.json").write_text("{}")
    generation, store = a_generation(tmp_path, model={"path": str(folder), "name": "m"})
    store.set_current(1, by="anna")
    receipt, _ = write_receipts(generation, store, by="anna")
    assert receipt.model.files["model.safetensors"].sha256 is None

    told = Told()
    assert weigh(store, told, dry_run=True).read == 1
    assert told.events == []
    assert read_receipt(store, 1) == receipt

    done = weigh(store, told)
    assert (done.generation, done.weights, done.read) == (1, 1, 1)
    assert [event.subject for event in told.events] == ["weights"]
    kept = read_receipt(store, 1)
    assert kept is not None
    assert kept.model.files["model.safetensors"].sha256 is not None
    assert kept.machine == receipt.machine
    assert weigh(store, told).read == 0
    assert write_receipts(generation, store, by="anna")[0].model == kept.model


def test_there_must_be_weights_to_hash(tmp_path: Path) -> None:
    _, store = a_generation(tmp_path)
    with pytest.raises(InputError, match="agg has not served yet"):
        weigh(store, Told())
    store.set_current(1, by="anna")
    with pytest.raises(InputError, match="the model simulated-model is not a folder or file on this machine"):
        weigh(store, Told())
