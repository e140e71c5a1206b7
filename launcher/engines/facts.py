"""What is known of an engine without running it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from launcher.frozen import Frozen

Kind: TypeAlias = Literal["sglang", "cpu", "simulator"]


class EngineFacts(Frozen):
    """An environment or checkout that serves, as its files describe it."""

    path: Path
    """What was asked about: a virtual environment, an interpreter's prefix, or a checkout."""
    kind: Kind
    version: str
    """Of SGLang; of pdlaunch for the simulator."""
    package: Path
    """The folder that ``import sglang`` runs; the simulator's own folder for the simulator."""
    commit: str | None = None
    """HEAD of the git checkout that holds `package`, 40 digits."""
    python: Path | None = None
    """The interpreter; None for a checkout without an environment of its own."""
    python_version: str | None = None
    torch: str | None = None
    cuda: str | None = None
    """CUDA version that torch was built for; None for a CPU build."""
    nixl: str | None = None
    router: str | None = None
    """Version of sglang-router."""
    distributions: Mapping[str, str] = {}
    """Every installed distribution, normalised name to version, sorted."""
