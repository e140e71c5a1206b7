"""Command lines without a terminal, run in this process."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from launcher.cli.app import run


@dataclass(frozen=True, slots=True)
class Said:
    """How a command line ended: what a shell sees of it."""

    code: int
    out: str
    err: str

    def plain(self, **names: object) -> str:
        """Exit code, stdout and stderr as one text; times, widths of columns and `names` are made equal."""
        text = f"{self.code}\n{self.out}---\n{self.err}"
        for word, value in names.items():
            text = text.replace(str(value), word)
        text = re.sub(r"\b\d\d:\d\d:\d\d\b", "TIME", text)
        text = re.sub(r"\b\d\d:\d\d\b", "HH:MM", text)
        text = re.sub(r"\b\d+(?:\.\d)? s\b|\b\d:\d\d\b", "N s", text)
        text = re.sub(r"(?<=\S) {2,}", "  ", text)
        # A phase is told where it lasts long enough to be seen.
        return re.sub(r"(?m)^TIME  \S+ +(?:weights|memory|graphs|warm-up)\b.*\n", "", text)


Shell = Callable[..., Said]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Run one command line as PDLAUNCH_BY=tester."""
    monkeypatch.setenv("PDLAUNCH_BY", "tester")

    def ask(*words: str) -> Said:
        capsys.readouterr()
        code = run(words)
        return Said(code, *capsys.readouterr())

    return ask
