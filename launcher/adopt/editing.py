"""Scripts that say something else now than what their process was started as. Pure but for reading the script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.adopt.finding import Found, reading_of
from launcher.adopt.options import options
from launcher.adopt.script import Command, Reading
from launcher.adopt.secrets import cut_names


@dataclass(frozen=True, slots=True)
class NotYet:
    """A line of a script that is not in effect."""

    line: int
    text: str
    """The line, without secrets."""
    setting: str
    """``SGLANG_X``, ``--mem-fraction-static``."""
    runs: str | None
    """What the process has; None where it does not have the setting."""
    says: str | None
    """What the script would give; None where it gives nothing."""


@dataclass(frozen=True, slots=True)
class Edited:
    """A script that was edited after its process had started."""

    script: str
    at: float
    """Seconds since the epoch."""
    lines: tuple[NotYet, ...]


def edited(server: Found) -> Edited | None:
    """What the script of `server` says since its start that the process does not run; None where they agree."""
    script = server.launch.script
    if script is None or server.read_from is not None:
        return None
    try:
        at, text = Path(script).stat().st_mtime, Path(script).read_text(errors="replace")
    except OSError:
        return None
    reading = reading_of(script, server.environ)
    command = _same(reading, server) if reading else None
    if at <= server.born or reading is None or command is None:
        return None
    source = text.splitlines()
    lines = tuple(sorted(_differences(server, command, reading, source), key=lambda d: (d.line, d.setting)))
    return Edited(script, at, lines) if lines else None


def _same(reading: Reading, server: Found) -> Command | None:
    """The command of the script that became this process: of its kind, and the most alike."""
    own = set(server.words)
    alike = [c for c in reading.commands if c.program.kind == server.program.kind]
    return max(alike, key=lambda c: len(own & set(c.words)), default=None)


def _differences(server: Found, command: Command, reading: Reading, source: list[str]) -> Iterator[NotYet]:
    unknown = {unread.text for unread in reading.unread}
    for name, line in reading.assigned.items():
        says, runs = command.environ.get(name), server.environ.get(name)
        if name in command.environ and says != runs and not any(text in (says or "") for text in unknown):
            yield NotYet(line, _line(source, line), name, _cut(name, runs), _cut(name, says))
    says_flags = _flags(command.words[command.program.head :])
    runs_flags = _flags(server.words[server.program.head :])
    for name in dict.fromkeys((*runs_flags, *says_flags)):
        told, has = says_flags.get(name), runs_flags.get(name)
        if told != has and not any(text in (told or "") for text in unknown):
            line = _mentioned(source, name, command.line)
            yield NotYet(line, _line(source, line), f"--{name}", _cut(f"--{name}", has), _cut(f"--{name}", told))


def _flags(words: tuple[str, ...]) -> Mapping[str, str]:
    return {option.name: " ".join(option.values) for option in options(words)}


def _mentioned(source: list[str], flag: str, otherwise: int) -> int:
    """The line that names the flag, else the one that starts the server."""
    return next((n for n, line in enumerate(source, 1) if f"--{flag}" in line), otherwise)


def _cut(setting: str, value: str | None) -> str | None:
    if value is None:
        return None
    joined = f"{setting}={value}"
    return "[a secret]" if cut_names(joined) != joined else value


def _line(source: list[str], number: int) -> str:
    return cut_names(source[number - 1].strip()) if 0 < number <= len(source) else ""
