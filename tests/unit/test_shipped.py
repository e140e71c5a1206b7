"""What ships beside the code is found from a checkout, an editable install and a wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from launcher.shipped import shipped

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("templates", "profiles")


@pytest.fixture(scope="module", name="wheel")
def _wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, unpacked as pip would."""
    built, unpacked = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("packages")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = built.glob("pdlaunch-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    return unpacked


def files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts}


def python(*words: str, cwd: Path, path: Path | None = None) -> str:
    """Run Python from `cwd`, with packages from `path` in front where that is given; what it prints."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(cwd), "PDLAUNCH_STATE_DIR": str(cwd / "state")}
    environ |= {"PYTHONPATH": str(path)} if path else {}
    command = [sys.executable, "-P", *words]
    done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_checkout_has_them_beside_the_package() -> None:
    assert [shipped(folder) for folder in FOLDERS] == [ROOT / folder for folder in FOLDERS]


def test_a_wheel_holds_everything(wheel: Path) -> None:
    beside = {f"_shipped/{folder}/{name}" for folder in FOLDERS for name in files(ROOT / folder)}
    assert files(wheel / "launcher") == files(ROOT / "launcher") | beside
    assert {"cli/help.txt", "engines/cpu/pins.txt", "_shipped/profiles/cpu-tiny.yaml"} <= files(wheel / "launcher")


def test_a_wheel_runs_on_its_own(wheel: Path, tmp_path: Path) -> None:
    where = python("-c", "import launcher; print(launcher.__file__)", cwd=tmp_path, path=wheel)
    assert where == str(wheel / "launcher/__init__.py")
    assert "rollback" in python("-m", "launcher", "--help", cwd=tmp_path, path=wheel)
    profile = str(wheel / "launcher/_shipped/profiles/sim.yaml")
    written = python("-m", "launcher", "render", profile, "-o", "out", cwd=tmp_path, path=wheel)
    assert {"out/decode-0.sh", "out/prefill-0.sh"} <= set(written.split())


def test_an_editable_install_runs_from_anywhere(tmp_path: Path) -> None:
    profile = python("-c", "from launcher.shipped import shipped; print(shipped('profiles'))", cwd=tmp_path)
    assert profile == str(ROOT / "profiles")
    written = python("-m", "launcher", "render", f"{profile}/sim.yaml", "-o", "out", cwd=tmp_path)
    assert {"out/decode-0.sh", "out/prefill-0.sh"} <= set(written.split())
