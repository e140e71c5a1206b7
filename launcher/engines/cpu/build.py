"""The steps that make the engine's Python environment."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from launcher.engines.cpu import pins
from launcher.engines.cpu.pip import RETRY, Pip
from launcher.engines.cpu.steps import Step, Tell
from launcher.engines.environment import environment_at
from launcher.engines.found import LAYER
from launcher.errors import PdlaunchError

_LAYER_SOURCE = Path(__file__).with_name("layer")
_SWITCH = 'import os; os.environ.get("SGLANG_USE_CPU_ENGINE") == "1" and __import__("pdlaunch_cpu_layer").activate()\n'
"""Python runs this line of a .pth file at every start; it must cost nothing where the engine is another one."""
_TOOLS = frozenset({"pip", "setuptools", "wheel"})


@dataclass(frozen=True, slots=True)
class Builder:
    """Makes the virtual environment at `venv`."""

    venv: Path
    pip: Pip

    def steps(self) -> tuple[Step, ...]:
        """The environment, each group of pins, and the layer."""
        packages = self.venv / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
        wanted = pins.groups(pins.FILE.read_text())

        def group(name: str, requirements: Sequence[str]) -> Step:
            return Step(name, "\n".join(requirements), packages, lambda tell: self._install(requirements, tell))

        return (
            Step("venv", packages.parent.name, self.venv / "bin" / "python", self._make),
            *(group(name, requirements) for name, requirements in wanted.items()),
            Step("layer", _digest(_LAYER_SOURCE) + _SWITCH, packages / LAYER, lambda tell: _put_layer(packages, tell)),
        )

    def _make(self, tell: Tell) -> None:
        tell(f"Python {sys.version.split()[0]}")
        shutil.rmtree(self.venv, ignore_errors=True)
        made = subprocess.run([sys.executable, "-m", "venv", self.venv], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            said = (made.stdout + made.stderr).strip()
            fix = "apt-get install python3-venv, then go on: " if "ensurepip" in said else "go on: "
            raise PdlaunchError(f"cannot make a virtual environment: {said}", hint=fix + RETRY)

    def _install(self, requirements: Sequence[str], tell: Tell) -> None:
        tell(f"{len(requirements)} pinned packages" if len(requirements) > 1 else requirements[0])
        self._clear_halves()
        self.pip.install(requirements, tell)
        if unwanted := self._unwanted():
            self.pip.uninstall(unwanted, tell)

    def _clear_halves(self) -> None:
        """Remove the metadata of packages whose installation was killed.

        pip writes RECORD last and takes any metadata for an installed package: it would leave a half one as it is.
        What it had moved aside under a name with ``~`` goes too.
        """
        environment = environment_at(self.venv)
        for folder in environment.folders if environment else ():
            for path in list(folder.iterdir()):
                if path.name.startswith("~") or (path.suffix == ".dist-info" and not (path / "RECORD").is_file()):
                    shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _unwanted(self) -> list[str]:
        """Distributions that an earlier set of pins had and this one has not."""
        wanted = pins.versions(pins.groups(pins.FILE.read_text())).keys() | _TOOLS
        environment = environment_at(self.venv)
        return [name for name in (environment.distributions if environment else ()) if name not in wanted]


def _digest(folder: Path) -> str:
    files = sorted(path for path in folder.iterdir() if path.is_file())
    return hashlib.sha256(b"".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()


def _put_layer(packages: Path, tell: Tell) -> None:
    tell("compatibility layer, off unless SGLANG_USE_CPU_ENGINE=1")
    shutil.rmtree(packages / LAYER, ignore_errors=True)
    shutil.copytree(_LAYER_SOURCE, packages / LAYER, ignore=shutil.ignore_patterns("__pycache__"))
    (packages / f"{LAYER}.pth").write_text(_SWITCH)
