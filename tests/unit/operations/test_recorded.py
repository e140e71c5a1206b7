"""Receipts flattened into names that can be compared."""

from __future__ import annotations

import datetime as dt

import pytest

from launcher.errors import InputError
from launcher.lock.observed import Observed, ObservedService, Resolved
from launcher.lock.receipt import Gpu, Host, ModelFile, ModelFiles, Receipt
from launcher.lock.record import Taken
from launcher.operations import receipts, recorded
from launcher.operations.recorded import OBSERVED, RECEIPT, decided, decided_of, fingerprints, machine, machine_of
from launcher.render import Layout
from launcher.store import layout

TAKEN = Taken(at=dt.datetime(2026, 12, 1, tzinfo=dt.UTC), by="anna", pdlaunch="1")
HOST = Host(
    name="box",
    kernel="6.1",
    cpu=None,
    cpus=8,
    numa_nodes=2,
    memory=(256 << 30) + 12345,
    shared_memory=1 << 30,
    driver="595.71",
    gpus=(Gpu(index=4, uuid="GPU-7d", pci="0000:81:00.0", model=None),),
    settings={"vm/swappiness": "10"},
    limits={"Max open files": "1024"},
)


def receipt(machine: Host, **files: ModelFile) -> Receipt:
    model = ModelFiles(path="/m", present=True, files=files)
    return Receipt(
        deployment="pd", generation=1, lock=None, about=TAKEN, machine=machine, model=model, packages=None, secrets={}
    )


def test_everything_of_a_machine_has_a_name() -> None:
    config, weights = ModelFile(size=1, sha256="a" * 64), ModelFile(size=5, mtime_ns=7, inode=9)
    assert machine_of(receipt(HOST, config=config, weights=weights)) == {
        "machine": "box",
        "kernel": "6.1",
        "driver": "595.71",
        "cpus": "8",
        "NUMA nodes": "2",
        "memory": "256 GiB",
        "shared memory": "1.0 GiB",
        "gpu 4": "GPU-7d 0000:81:00.0",
        "setting vm/swappiness": "10",
        "limit Max open files": "1024",
        "model config": "a" * 12,
        "model weights": "5 bytes, inode 9, 7",
    }


def observed(**changes: object) -> Observed:
    service = ObservedService(
        pid=1,
        started=2,
        answered=True,
        resolved={"page_size": Resolved(asked="64", gets=256)},
        decided={"attention_backend": "dsv4", "x": [1, 2]},
        measured={"max_total_num_tokens": 77},
        environment={"TLLM_LOG_LEVEL": ("INFO",), "RANK": ("0", "1")},
    ).model_copy(update=changes)
    silent = service.model_copy(update={"answered": False})
    return Observed(
        deployment="pd",
        generation=1,
        lock=None,
        about=TAKEN,
        boot=str(changes.get("pid", "b")),
        services={"decode-0": service, "router": silent},
    )


def keep(number: int, *records: Receipt | Observed) -> Layout:
    place = layout("pd")
    folder = receipts.receipts_folder(place, number)
    folder.mkdir(parents=True)
    for record in records:
        (folder / f"{record.kind}.yaml").write_text(record.to_yaml())
    return place


def test_records_are_found_where_they_are_kept() -> None:
    assert (RECEIPT, OBSERVED) == (receipts.RECEIPT, receipts.OBSERVED)
    place = keep(1, receipt(HOST).model_copy(update={"secrets": {"TOKEN": "ab"}}), observed())
    assert machine(place, 1) == machine_of(receipt(HOST))
    assert decided(place, 1) == decided_of(observed())
    assert fingerprints(place, 1) == {"TOKEN": "ab"}
    assert (machine(place, 2), decided(place, 2), fingerprints(place, 2)) == (None, None, {})


def test_a_record_that_was_edited_is_an_error_where_it_is_read() -> None:
    place = keep(1, receipt(HOST), observed())
    for name, old, new in ((RECEIPT, "6.1", "6.2"), (OBSERVED, "dsv4", "dsv5")):
        path = receipts.receipts_folder(place, 1) / name
        path.write_text(path.read_text().replace(old, new))
    for read in (machine, decided):
        with pytest.raises(InputError, match="edited"):
            dict(read(place, 1) or {})


def test_another_start_of_the_same_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    place = keep(1, receipt(HOST), observed())
    keep(2, receipt(HOST), observed(pid=7, started=8))
    keep(3, receipt(HOST.model_copy(update={"driver": "600"})), observed(decided={"attention_backend": "fa3"}))
    for name in ("_receipt", "_observed"):
        monkeypatch.setattr(recorded, name, None)
    assert (machine(place, 1), decided(place, 1)) == (machine(place, 2), decided(place, 2))
    monkeypatch.undo()
    assert machine(place, 1) != machine(place, 3)
    assert decided(place, 1) != decided(place, 3)


def test_no_field_of_a_machine_is_left_out() -> None:
    """One that is added there and not here would change without a word."""
    plain = machine_of(receipt(HOST))
    others = {
        "name": "other",
        "kernel": "6.2",
        "cpu": "EPYC",
        "cpus": 9,
        "numa_nodes": 1,
        "memory": 1 << 40,
        "shared_memory": 1,
        "driver": None,
        "gpus": (),
        "settings": {},
        "limits": {},
    }
    assert others.keys() == Host.model_fields.keys()
    same = [k for k, v in others.items() if machine_of(receipt(HOST.model_copy(update={k: v}))) == plain]
    assert same == []


def test_what_an_engine_decided_by_service() -> None:
    assert decided_of(observed()) == {
        "decode-0": {
            "page_size": "256",
            "attention_backend": "dsv4",
            "x": "[1, 2]",
            "env TLLM_LOG_LEVEL": "INFO",
            "env RANK": "0, 1",
        }
    }
