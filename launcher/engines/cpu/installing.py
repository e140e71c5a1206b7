"""Install the CPU engine, or find it installed."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

from launcher.engines.cpu import engine, model
from launcher.engines.cpu.build import Builder
from launcher.engines.cpu.only_one import only_one
from launcher.engines.cpu.pip import MAKE_ROOM, RETRY, Pip
from launcher.engines.cpu.steps import Progress, Step, Tell, outstanding, perform
from launcher.engines.cpu.verify import CHECK, flags, verify
from launcher.errors import PdlaunchError

_NO_LOCK = -1


def install(home: Path, *, progress: Progress, wait: bool = False) -> engine.CpuEngine:
    """The CPU engine at `home`, made or completed there where it is not.

    An engine that is there and current is found in milliseconds. `progress` gets the name of each step and what it is
    doing. With `wait`, the end of another process's installation is awaited.

    Raises:
        BusyError: another process is installing there, and `wait` is not set.
        PdlaunchError: pip failed, the disk is full, or the engine does not work; the hint says what to type next.
    """
    try:
        if (found := _current(home)) is not None:
            return found
        home.mkdir(parents=True, exist_ok=True)
        with only_one(home / ".lock", (lambda who: progress("wait", who)) if wait else None) as lock:
            if engine.installed(home) is None:  # not yet complete, or its record was damaged: then it is verified anew
                (home / engine.STAMPS / engine.LAST_STEP).unlink(missing_ok=True)
            perform(outstanding(_steps(home, lock), home / engine.STAMPS), home / engine.STAMPS, progress)
    except OSError as error:
        raise _unwritable(error, home) from error
    complete = engine.installed(home)
    if complete is None:
        raise PdlaunchError(
            f"somebody took the CPU engine's record away: {home / engine.RECORD}", hint=f"again: {RETRY}"
        )
    return complete


def _current(home: Path) -> engine.CpuEngine | None:
    """The engine, if it is complete and made of what this pdlaunch asks for."""
    return engine.installed(home) if not outstanding(_steps(home, _NO_LOCK), home / engine.STAMPS) else None


def _steps(home: Path, lock: int) -> tuple[Step, ...]:
    venv, folder = home / "venv", home / "model"
    pip = Pip(python=venv / "bin" / "python", log=home / "install.log", scratch=home / "tmp", lock=lock)

    def make_model(tell: Tell) -> None:
        tell("tiny random Llama, one token per byte")
        model.write(folder)

    def check(tell: Tell) -> None:
        tell("imports, versions, a NIXL transfer, model, SGLang's command line, router")
        engine.record(home, verify(venv, folder))

    return (
        *Builder(venv, pip).steps(),
        Step("model", _digest(Path(model.__file__)), folder / "model.safetensors", make_model),
        Step(engine.LAST_STEP, _digest(CHECK) + " ".join(flags()), home / engine.RECORD, check),
    )


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _unwritable(error: OSError, home: Path) -> PdlaunchError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return PdlaunchError(f"the disk is full at {home}", hint=f"{MAKE_ROOM}, then go on: {RETRY}")
    return PdlaunchError(
        f"cannot write {error.filename or home}: {error.strerror or error}",
        hint=f"make that writable, or set PDLAUNCH_DATA_DIR to a folder that is, then go on: {RETRY}",
    )
