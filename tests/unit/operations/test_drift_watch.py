"""Drift is told once for each change of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.errors import PdlaunchError
from launcher.operations.drift_watch import DriftWatch
from launcher.store import Store, layout


def test_each_line_is_told_once_and_its_end_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: Iterator[tuple[str, ...]] = iter([(), ("a",), ("a",), ("a", "b"), (), ()])
    monkeypatch.setattr("launcher.operations.drifting.drift", lambda _store: next(seen))
    told: list[str] = []
    watch = DriftWatch(Store(layout("pd")), told.append)
    for _ in range(6):
        watch.look()
    assert told == ["drift: a", "drift: b", "drift: none any more"]


def test_what_cannot_be_read_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_store: Store) -> tuple[str, ...]:
        raise PdlaunchError("generation 3 is damaged")

    monkeypatch.setattr("launcher.operations.drifting.drift", fail)
    told: list[str] = []
    watch = DriftWatch(Store(layout("pd")), told.append)
    watch.look()
    watch.look()
    assert told == ["drift: cannot be read: generation 3 is damaged"]
