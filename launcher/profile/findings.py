"""What a check finds, before it is known which file and line it stands on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import Problem
from launcher.profile.lines import Lines
from launcher.profile.tree import KeyPath, dotted

DELETE = "nothing, delete the line"
"""What to write where a line has no place."""
_LONGEST = 60
# Nothing is guessed to be a secret where it matters; this only keeps error messages from showing one.
_SECRET = re.compile(r"key|token(?!s|iz)|password|secret|credential", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong at a path of the profile."""

    path: KeyPath
    error: str
    write: str | None = None
    severity: str = "error"
    code: str | None = None
    line: int | None = None
    """Where it stands if not at `path`: the second of two equal keys."""
    written: str | None = None
    """What stands there if not the value at `path`."""


def problem(finding: Finding, file: Path, lines: Lines) -> Problem:
    """The finding with file, line, and the value as written."""
    line = finding.line or lines.at(*finding.path)
    value = None if _hides(finding.path) else finding.written or lines.written(*finding.path)
    subject = printable(dotted(finding.path))
    return Problem(
        where=f"{file}:{line}",
        subject=f"{subject} = {printable(value)}" if value else subject,
        error=finding.error,
        write=finding.write,
        severity=finding.severity,
        code=finding.code,
    )


def unless_known(findings: Iterable[Finding], known: Iterable[Finding], lines: Lines) -> list[Finding]:
    """The findings that `known` has none for: what could not be read is not judged as well.

    Not at the same place, nor below one where something else than a mapping stands.
    """
    places = {finding.path for finding in known}
    unreadable = {path for path in places if path and not lines.is_block(*path)}
    return [
        finding
        for finding in findings
        if finding.path not in places
        and not any(finding.path[:length] in unreadable for length in range(1, len(finding.path)))
    ]


def _hides(path: KeyPath) -> bool:
    """Whether a secret may stand there: under `secrets` by mistake, or as a flag that takes one."""
    return "secrets" in path or any(isinstance(step, str) and _SECRET.search(step) for step in path)


def printable(text: str) -> str:
    """Text on one line that cannot move a terminal's cursor, cut where it is long."""
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return safe if len(safe) <= _LONGEST else f"{safe[: _LONGEST - 3]}..."
