"""The installed CPU engine, as its own record describes it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from launcher.durable import write_whole
from launcher.engines.cpu.steps import durations
from launcher.engines.environment import environment_at
from launcher.engines.locations import engines_dir
from launcher.frozen import Frozen

RECORD = "engine.json"
STAMPS = "steps"
LAST_STEP = "verify"
_TELLING = ("sglang", "torch", "nixl", "sglang-router", "transformers")


class Verified(Frozen):
    """What the last step of an installation found out."""

    versions: Mapping[str, str]
    """Of the parts that matter: python, sglang, torch, nixl, sglang-router, transformers."""
    checks: Mapping[str, str]
    """Each check and what it found."""
    size: int
    """Bytes of environment and model."""


class CpuEngine(Verified):
    """An environment that serves without a GPU, verified when it was made."""

    home: Path
    seconds: Mapping[str, float]
    """How long each step took when it was last done."""

    @property
    def venv(self) -> Path:
        """The environment; what a profile's ``engine.venv`` stands for."""
        return self.home / "venv"

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.venv / "bin" / "python"

    @property
    def model(self) -> Path:
        """The folder of the tiny model."""
        return self.home / "model"


def home() -> Path:
    """Where the CPU engine belongs on this machine."""
    return engines_dir() / "cpu"


def installed(where: Path | None = None) -> CpuEngine | None:
    """The CPU engine at `where`, or at `home`, if its installation was completed; it may be of an earlier pdlaunch."""
    place = where or home()
    if not (place / STAMPS / LAST_STEP).is_file():
        return None
    try:
        record = Verified.model_validate_json((place / RECORD).read_bytes())
    except (OSError, ValidationError):
        return None
    return CpuEngine(home=place, seconds=durations(place / STAMPS), **record.model_dump())


def record(place: Path, checks: Mapping[str, str]) -> None:
    """Write down that the engine at `place` was verified, with its versions and size."""
    environment = environment_at(place / "venv")
    if environment is None:
        raise FileNotFoundError(f"no environment in {place}")
    versions = {"python": environment.version} | {name: environment.version_of(name) or "" for name in _TELLING}
    size = sum(_bytes(place / part) for part in ("venv", "model"))
    text = Verified(versions=versions, checks=checks, size=size).model_dump_json(indent=2)
    write_whole(place / RECORD, text + "\n")


def _bytes(folder: Path) -> int:
    """What the files below `folder` take on the disk."""
    return sum(
        os.lstat(os.path.join(parent, name)).st_blocks * 512  # noqa: PTH118 - 40 000 files
        for parent, _, names in os.walk(folder)
        for name in names
    )
