from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from launcher.engines.cpu import pins
from launcher.engines.cpu.verify import differences, flags, verify
from launcher.errors import PdlaunchError
from tests.unit.engines.trees import package, venv


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """An engine's home whose environment has every pin, and a Python that `answers`."""
    packages = venv(tmp_path / "venv", pins.versions(pins.groups(pins.FILE.read_text())))
    package(packages / "sglang")
    (tmp_path / "venv" / "bin" / "python").unlink()
    return tmp_path


def answers(engine: Path, code: str) -> None:
    """Let the engine's Python run this instead of the check."""
    python = engine / "venv" / "bin" / "python"
    python.write_text(f"#!{sys.executable}\nimport json, os, pathlib, sys\n{code}\n")
    python.chmod(0o755)


def test_the_check_runs_as_a_server_would(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("SGLANG_STRAY", "1")
    answers(
        engine,
        "seen = {'argv': ' '.join(sys.argv[1:]), 'env': ' '.join(os.environ)}\n"
        "pathlib.Path(sys.argv[3]).write_text(json.dumps(seen))",
    )

    found = verify(engine / "venv", engine / "model")

    script, model, _, *rest = found["argv"].split()
    assert Path(script).name == "check.py"
    assert Path(model) == engine / "model"
    assert tuple(rest) == flags()
    assert "SGLANG_USE_CPU_ENGINE" in found["env"].split()
    assert not {"PYTHONPATH", "SGLANG_STRAY"} & set(found["env"].split())
    assert not (engine / "check.json").exists()


def test_a_failed_check_ends_with_what_it_said(engine: Path) -> None:
    answers(engine, "print('loading'); sys.exit('RuntimeError: NIXL_ERR_BACKEND\\ncheck failed: transfer')")
    with pytest.raises(PdlaunchError, match="does not work") as caught:
        verify(engine / "venv", engine / "model")
    assert caught.value.message.endswith("check failed: transfer")
    assert "NIXL_ERR_BACKEND" in caught.value.message
    assert caught.value.hint


def test_a_package_that_is_not_the_pinned_one_is_named_before_anything_runs(engine: Path) -> None:
    packages = engine / "venv" / "lib" / "python3.11" / "site-packages"
    (packages / "tqdm-4.70.1.dist-info").rename(packages / "tqdm-1.dist-info")
    answers(engine, "pathlib.Path('ran').touch()")
    with pytest.raises(PdlaunchError, match=r"tqdm is 1, not 4\.70\.1"):
        verify(engine / "venv", engine / "model")


def test_a_missing_package_is_a_difference_and_an_extra_one_is_none() -> None:
    assert differences({"a": "1", "pip": "23.2.1"}, {"a": "1", "b": "2"}) == ["b is missing, not 2"]


def test_a_switch_is_a_flag_without_a_value() -> None:
    assert "" not in flags()
    assert "--disable-overlap-schedule" in flags()
    device = flags().index("--device")
    assert flags()[device : device + 2] == ("--device", "cpu")


def test_the_answer_is_what_the_check_wrote(engine: Path) -> None:
    answers(engine, f"pathlib.Path(sys.argv[3]).write_text({json.dumps({'layer': 'on'})!r})")
    assert verify(engine / "venv", engine / "model") == {"layer": "on"}
