"""Names for engines on this machine, so that a profile can say ``venv: fork`` instead of a path."""

from __future__ import annotations

import difflib
import fcntl
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from launcher.durable import write_whole
from launcher.engines.cpu import installed as installed_cpu
from launcher.engines.facts import EngineFacts, Kind
from launcher.engines.found import describe, simulator
from launcher.engines.locations import engines_dir
from launcher.errors import InputError, PdlaunchError
from launcher.frozen import Frozen

CPU, SIMULATOR = "cpu", "simulator"
"""Names that pdlaunch gives itself."""
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,62}")
_FILE = "registered.json"
# Last parts of a path that name no engine: /opt/sglang/venv is called sglang.
_PLAIN = frozenset({"venv", ".venv", "env", ".env", "python"})


class Registered(Frozen):
    """An engine that has a name on this machine."""

    name: str
    path: Path
    kind: Kind


def registered() -> tuple[Registered, ...]:
    """Every engine with a name: the installed CPU engine, the simulator and what was registered, by name.

    Raises:
        PdlaunchError: the registry is damaged or cannot be read.
    """
    return tuple(sorted(_all().values(), key=lambda engine: engine.name))


def register(path: Path, name: str | None = None) -> Registered:
    """Give the engine at `path` a name; without one it is called after its folder.

    Registering the same again changes nothing.

    Raises:
        InputError: there is no engine at `path`, the name is no name, or another engine has it.
        PdlaunchError: the registry cannot be written.
    """
    facts = describe(path)
    new = Registered(name=_valid(name or _name_for(facts.path)), path=facts.path, kind=facts.kind)
    with _changing() as entries:
        old = entries.get(new.name)
        if old is not None and old.path != new.path:
            raise InputError(
                f"{new.name} is already {old.path}",
                hint=f"choose another name: pdlaunch engine add {new.path} --name NAME",
            )
        entries[new.name] = new
    return new


def unregister(name: str) -> Registered:
    """Take a registered engine's name away; the engine itself stays as it is.

    Raises:
        InputError: no engine was registered under that name.
        PdlaunchError: the registry cannot be written.
    """
    with _changing() as entries:
        if name not in entries:
            raise _unknown(name, _all())
        return entries.pop(name)


def lookup(name: str) -> Registered:
    """The engine of that name.

    Raises:
        InputError: there is none; says which there are.
    """
    known = _all()
    if name not in known:
        raise _unknown(name, known)
    return known[name]


def resolve(engine: str) -> EngineFacts:
    """What a profile's ``venv`` means: a registered name, or a path, which has a ``/`` in it.

    Raises:
        InputError: nobody has that name, or there is no engine at that path.
    """
    if "/" in engine:
        return describe(Path(engine))
    found = lookup(engine)
    return simulator() if found.kind == "simulator" else describe(found.path)


def _all() -> Mapping[str, Registered]:
    own = {SIMULATOR: Registered(name=SIMULATOR, path=simulator().path, kind="simulator")}
    if (cpu := installed_cpu()) is not None:
        own[CPU] = Registered(name=CPU, path=cpu.venv, kind="cpu")
    return _read(engines_dir() / _FILE) | own


def _read(path: Path) -> dict[str, Registered]:
    try:
        document = json.loads(path.read_bytes())
        return {name: Registered(name=name, path=Path(e["path"]), kind=e["kind"]) for name, e in document.items()}
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise PdlaunchError(f"cannot read {path}: {error.strerror}", hint=f"ls -l {path}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise PdlaunchError(
            f"{path} is damaged: {error}", hint="move it away, then add the engines again: pdlaunch engine add PATH"
        ) from error


@contextmanager
def _changing() -> Iterator[dict[str, Registered]]:
    """The entries, to be changed by one process at a time; written when the block ends without an error."""
    folder = engines_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".registry.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            entries = _read(folder / _FILE)
            yield entries
            rows = {name: {"path": str(e.path), "kind": e.kind} for name, e in sorted(entries.items())}
            write_whole(folder / _FILE, json.dumps(rows, indent=2) + "\n")
    except OSError as error:
        raise PdlaunchError(
            f"cannot write {error.filename or folder}: {error.strerror}",
            hint="make that folder writable, or set PDLAUNCH_DATA_DIR to one that is",
        ) from error


def _valid(name: str) -> str:
    if name in (CPU, SIMULATOR):
        raise InputError(f"{name} is pdlaunch's own engine", hint="choose another name: --name NAME")
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name!r} is no name for an engine: a letter, then letters, digits, '.', '_' or '-', 63 at most",
            hint="choose a name: --name NAME",
        )
    return name


def _name_for(path: Path) -> str:
    """The last part of the path that says something: ``sglang`` for /opt/sglang/venv."""
    telling = (part for part in reversed(path.parts) if part not in _PLAIN)
    return next(telling, "")


def _unknown(name: str, known: Mapping[str, Registered]) -> InputError:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else "write a path, or name it first: pdlaunch engine add PATH"
    if name == CPU:
        hint = "install it: pdlaunch engine install cpu"
    return InputError(f"no engine is called {name}; known: {', '.join(sorted(known))}", hint=hint)
