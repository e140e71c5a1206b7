from __future__ import annotations

import datetime as dt
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from launcher.errors import InputError
from launcher.lock.observed import Observed, ObservedService, Resolved
from launcher.lock.receipt import Gpu, Host, ModelFile, ModelFiles, Receipt
from launcher.lock.record import Taken

ABOUT = Taken(at=dt.datetime(2026, 12, 1, 11, 46, 12, tzinfo=dt.UTC), by="anna", pdlaunch="0.1.0")
HOST = Host(
    name="box",
    kernel="6.8.0",
    cpu="EPYC 9575F",
    cpus=128,
    numa_nodes=2,
    memory=2**40,
    shared_memory=None,
    driver="595.71.05",
    gpus=(Gpu(index=0, uuid="GPU-7d0e", pci="0000:01:00.0", model="RTX PRO 6000"),),
    settings={"vm/swappiness": "60"},
    limits={"open files": "1024 / 1048576"},
)
RECEIPT = Receipt(
    deployment="tiny",
    generation=37,
    lock="8d21" * 16,
    about=ABOUT,
    machine=HOST,
    model=ModelFiles(
        path="/models/x",
        present=True,
        files={
            "config.json": ModelFile(size=2, sha256="ab" * 32),
            "model.safetensors": ModelFile(size=10**11, mtime_ns=1_764_586_772_123_456_789, inode=7),
        },
    ),
    packages=None,
    secrets={"HF_TOKEN": "3f9a0b1c", "OTHER": None},
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab ~:", max_size=4), inner, max_size=3),
    max_leaves=8,
)


def observed(**decided: JsonValue) -> Observed:
    service = ObservedService(
        pid=41822,
        started=123,
        answered=True,
        resolved={"page_size": Resolved(asked="64", gets=256)},
        decided=decided,
        measured={"memory_usage": {"weight": 40.5}},
        environment={"RANK": ("0", "1")},
    )
    return Observed(deployment="tiny", generation=37, lock=None, about=ABOUT, boot="b", services={"decode-0": service})


def test_a_receipt_is_read_back_as_it_was_written() -> None:
    text = RECEIPT.to_yaml()
    assert text.startswith("# What this machine was")
    assert Receipt.from_yaml(text, "receipt.yaml") == RECEIPT


@given(value=VALUES)
def test_whatever_a_server_says_is_read_back(value: JsonValue) -> None:
    record = observed(key=value)
    assert Observed.from_yaml(record.to_yaml(), "observed.yaml") == record


def test_who_and_when_are_in_no_digest() -> None:
    later = RECEIPT.model_copy(update={"about": ABOUT.model_copy(update={"by": "bert"})})
    assert later.digest == RECEIPT.digest
    assert RECEIPT.model_copy(update={"generation": 38}).digest != RECEIPT.digest


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kernel: ", "kernel: x", "machine was edited"),
        ("size: 2\n", "size: 3\n", "model was edited"),
        ("3f9a0b1c", "3f9a0b1d", "secrets was edited"),
        ("packages: ~", 'packages: "x"', "packages was edited"),
        ("generation: 37", "generation: 38", "was cut short or edited"),
        ("  by: anna\n", "", r"about\.by: is missing"),
        ("receipt: 1", "receipt: 2", "has the schema `receipt: 2`, and this pdlaunch knows 1"),
        ("receipt: 1", "observed: 1", "is no receipt"),
    ],
)
def test_an_edit_is_refused_by_the_name_of_its_section(old: str, new: str, said: str) -> None:
    text = RECEIPT.to_yaml()
    assert old in text
    with pytest.raises(InputError, match=said):
        Receipt.from_yaml(text.replace(old, new), "receipt.yaml")


def test_a_record_cut_short_at_any_line_is_refused() -> None:
    text = RECEIPT.to_yaml()
    for end in [match.end() for match in re.finditer("\n", text)][:-1]:
        with pytest.raises(InputError, match=r"^receipt\.yaml"):
            Receipt.from_yaml(text[:end], "receipt.yaml")
    with pytest.raises(InputError, match="its last line has no end"):
        Receipt.from_yaml(text[:-1], "receipt.yaml")
