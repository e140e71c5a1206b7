"""Several inputs at once, each in a Python of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from launcher.errors import PdlaunchError
from launcher.knobs.harvest import sweep as sweep_module
from launcher.knobs.harvest.files import Listing
from launcher.knobs.harvest.processes import in_processes
from launcher.knobs.harvest.sweep import sweep

from ..trees import engine


def test_answers_come_in_order_and_from_others() -> None:
    assert list(in_processes(os.path.basename, ["/a/b", "/c/d", "/e/f"])) == ["b", "d", "f"]
    own, *others = in_processes(os.getenv, ["PATH", "PYTHONPATH"])
    assert own == os.environ["PATH"]
    assert str(Path(__file__).resolve().parents[4]) in str(others[0])


def test_nothing_asked_nothing_done() -> None:
    assert list(in_processes(os.getenv, [])) == []


def test_a_child_that_fails_says_why() -> None:
    with pytest.raises(PdlaunchError, match=r"failed in a child process \(exit 1\)") as raised:
        list(in_processes(os.listdir, ["/", "/there/is/no/such/folder"]))
    assert "FileNotFoundError" in (raised.value.hint or "")


def test_a_sweep_in_two_processes_finds_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"SGLANG_N{number}" for number in range(6)]
    files = {f"srt/m{n}.py": f"from sglang.srt.h import flag\nx = flag('{name}')\n" for n, name in enumerate(names)}
    helper = {"srt/h.py": "import os\ndef flag(name):\n    return os.environ[name]\n"}
    root = engine(tmp_path, files | helper)
    listed = Listing(root).files
    alone = sweep(root, "sglang", listed)
    monkeypatch.setattr(sweep_module, "_WORTH_A_PROCESS", 1)
    monkeypatch.setattr(sweep_module, "cores", lambda: 2)
    assert sweep(root, "sglang", listed) == alone
    assert {name for facts in alone.values() for name, _ in facts.uses.reads} >= set(names)
