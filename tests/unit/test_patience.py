"""What takes long says so once, to whoever listens; what is quick says nothing."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from launcher.knobs import harvest
from launcher.knobs.harvest import engine as harvest_of_an_engine
from launcher.patience import listening, patience

from .knobs.trees import engine


def test_what_takes_long_says_what_it_is() -> None:
    heard, said = threading.Event(), list[str]()

    def tell(text: str) -> None:
        said.append(text)
        heard.set()

    with listening(tell), patience("reading", after=0.0):
        assert heard.wait(30)
    assert said == ["reading"]


def test_what_is_quick_says_nothing_and_neither_does_what_nobody_listens_to() -> None:
    said = list[str]()
    with listening(said.append), patience("reading", after=60.0):
        pass
    with patience("reading", after=0.0):
        pass
    assert said == []


def test_reading_an_engine_says_how_much_there_is_to_read_and_one_that_is_kept_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = list[str]()

    @contextmanager
    def impatient(text: str) -> Iterator[None]:
        said.append(text)
        yield

    monkeypatch.setattr(harvest_of_an_engine, "patience", impatient)
    package = engine(tmp_path)
    for _ in range(2):
        harvest(package, cache_dir=tmp_path / "cache")
    assert [re.sub(r"\d+", "N", text) for text in said] == ["reading the source of sglang once: N files"]
