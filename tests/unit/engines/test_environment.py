from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.engines.environment import environment_at, normalised
from launcher.errors import InputError
from tests.unit.engines.trees import distribution, venv


def test_a_venv_is_read_without_starting_its_python(tmp_path: Path) -> None:
    packages = venv(tmp_path, {"torch": "2.13.0+cpu", "Typing_Extensions": "4.16.0", "sglang-router": "0.3.2"})
    python = tmp_path / "bin" / "python"
    python.unlink()
    python.write_text("not a program")

    found = environment_at(tmp_path)

    assert found is not None
    assert (found.python, found.version, found.folders) == (python, "3.11.7", (packages,))
    assert {name: d.version for name, d in found.distributions.items()} == {
        "sglang-router": "0.3.2",
        "torch": "2.13.0+cpu",
        "typing-extensions": "4.16.0",
    }
    assert found.version_of("sglang", "torch") == "2.13.0+cpu"
    assert found.version_of("sglang") is None


@pytest.mark.parametrize(
    ("settings", "version"),
    [("version = 3.11.7\n", "3.11.7"), ("uv = 0.9\nversion_info = 3.12.4\n", "3.12.4"), ("", "3.11")],
)
def test_the_version_is_what_the_maker_of_the_venv_wrote(tmp_path: Path, settings: str, version: str) -> None:
    venv(tmp_path, settings=settings)
    found = environment_at(tmp_path)
    assert found is not None
    assert found.version == version


def test_a_folder_without_python_is_no_environment(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    assert environment_at(tmp_path) is None


def test_an_interpreter_outside_a_venv_is_asked_for_its_folders() -> None:
    found = environment_at(Path(sys.base_prefix))
    assert found is not None
    assert found.version == sys.version.split()[0]
    code = "import site, sys; print('\\n'.join(site.getsitepackages()))"  # Debian's are called dist-packages
    python = str(Path(sys.base_prefix) / "bin" / "python3")
    told = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True).stdout.split("\n")
    assert {Path(folder) for folder in told if Path(folder).is_dir()} & set(found.folders)


def test_a_venv_with_system_packages_has_those_of_its_base_behind_its_own(tmp_path: Path) -> None:
    packages = venv(tmp_path)
    base = Path(sys.base_prefix)
    (tmp_path / "pyvenv.cfg").write_text(f"home = {base}/bin\ninclude-system-site-packages = true\nversion = 3.11.7\n")

    found = environment_at(tmp_path)

    outside = environment_at(base)
    assert found is not None
    assert outside is not None
    assert found.folders == (packages, *outside.folders)


@pytest.mark.parametrize(
    ("break_it", "what"),
    [
        ("rm bin/python", "no bin/python"),
        ("dangle bin/python", "which is gone"),
        ("rm lib", "no lib/python*/site-packages"),
    ],
)
def test_half_an_environment_is_named_as_that(tmp_path: Path, break_it: str, what: str) -> None:
    packages = venv(tmp_path)
    match break_it.split():
        case ["rm", "lib"]:
            packages.rmdir()
        case [verb, _]:
            (tmp_path / "bin" / "python").unlink()
            if verb == "dangle":
                (tmp_path / "bin" / "python").symlink_to("/opt/gone/python3.11")
    with pytest.raises(InputError, match="half an environment") as caught:
        environment_at(tmp_path)
    assert what in caught.value.message
    assert caught.value.hint


def test_a_python_that_does_not_start_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin" / "python3"
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    with pytest.raises(InputError, match="does not start"):
        environment_at(tmp_path)


def test_a_damaged_record_of_an_editable_installation_is_an_error(tmp_path: Path) -> None:
    (distribution(venv(tmp_path), "sglang", "0.5.23") / "direct_url.json").write_text("{")
    found = environment_at(tmp_path)
    assert found is not None
    with pytest.raises(InputError, match=r"direct_url\.json is damaged"):
        found.editable("sglang")


@given(st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", fullmatch=True))
def test_a_normalised_name_compares(name: str) -> None:
    once = normalised(name)
    assert normalised(once) == once == normalised(name.upper()) == normalised(name.replace("_", "-"))
