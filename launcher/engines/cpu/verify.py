"""The last step: try what a server needs, and write down what was found."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from launcher.engines.cpu import pins
from launcher.engines.cpu.pip import RETRY
from launcher.engines.cpu.settings import CPU_ENGINE_ARGS, CPU_ENGINE_ENV
from launcher.engines.found import describe
from launcher.errors import PdlaunchError

CHECK = Path(__file__).with_name("check.py")
_LIMIT = 600
"""Seconds; it takes 15 on an idle machine."""
_SHOWN = 6
"""Lines of a failed check that an error shows."""


def flags() -> tuple[str, ...]:
    """The command-line flags of every CPU server."""
    return tuple(word for flag, (value, _) in CPU_ENGINE_ARGS.items() for word in (f"--{flag}", value) if word)


def verify(venv: Path, model: Path) -> dict[str, str]:
    """What each check found; PdlaunchError on the first that fails."""
    _exactly_the_pins(venv)
    answer = model.parent / "check.json"
    command = [str(venv / "bin" / "python"), str(CHECK), str(model), str(answer), *flags()]
    try:
        ran = subprocess.run(
            command, env=_variables(venv), capture_output=True, text=True, errors="replace", timeout=_LIMIT, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise _failed(f"no answer within {_LIMIT} s") from error
    if ran.returncode != 0:
        raise _failed("\n  ".join((ran.stdout + ran.stderr).strip().splitlines()[-_SHOWN:]))
    found: dict[str, str] = json.loads(answer.read_bytes())
    answer.unlink()
    return found


def differences(installed: Mapping[str, str], wanted: Mapping[str, str]) -> list[str]:
    """Each pin that is not what is installed, as ``NAME is VERSION, not VERSION``."""
    return [
        f"{name} is {installed.get(name, 'missing')}, not {version}"
        for name, version in wanted.items()
        if installed.get(name) != version
    ]


def _exactly_the_pins(venv: Path) -> None:
    wanted = pins.versions(pins.groups(pins.FILE.read_text()))
    if wrong := differences(describe(venv).distributions, wanted):
        raise _failed("; ".join(wrong))


def _variables(venv: Path) -> dict[str, str]:
    own = {name: value for name, (value, _) in CPU_ENGINE_ENV.items()}
    base = {"PATH": f"{venv}/bin:{os.defpath}", "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}
    return base | own


def _failed(what: str) -> PdlaunchError:
    return PdlaunchError(
        f"the CPU engine is installed but does not work:\n  {what}",
        hint=f"make it anew: rm -r its venv folder, then {RETRY}",
    )
