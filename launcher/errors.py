"""The errors that pdlaunch raises: one small tree, each with a hint and an exit code.

Exit codes: 0 fine, 1 failed, 2 usage or invalid input, 3 differences or drift found, 4 busy: held by
someone else, 5 probe failed, 6 returned to the former generation by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with an input: where it stands, what is wrong, and what to write instead."""

    where: str
    """``file:line``, or the file alone where there is no line."""
    subject: str
    """The key or flag, with its value where that helps: ``engine.env.NCCL_DEBUG = on``."""
    error: str
    """What is wrong, and what is allowed."""
    write: str | None = None
    """The line to write instead, or None where there is nothing to write."""
    severity: str = "error"
    """``error`` stops; ``warning`` is shown and stops nothing."""
    code: str | None = None
    """The rule's code, such as ``PD204``, where a rule said it."""

    def __str__(self) -> str:
        """The problem as the operator reads it, two or three lines."""
        label = f"{self.code}: " if self.code else ""
        lines = [f"{self.where}  {self.subject}".rstrip(), f"  {self.severity:<6} {label}{self.error}"]
        if self.write is not None:
            first, *rest = self.write.splitlines() or [""]
            lines.append(f"  write  {first}")
            lines += [f"         {line}" for line in rest]
        return "\n".join(lines)


class PdlaunchError(Exception):
    """The program cannot go on; `hint` says what to type next."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(PdlaunchError):
    """What was given is not valid; nothing was started or changed."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str | None = None, problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.problems = problems


class BusyError(PdlaunchError):
    """Someone else holds what is wanted; the message says who, since when and why."""

    exit_code = 4


class ProbeFailedError(PdlaunchError):
    """The deployment runs, but a probe did not get its tokens."""

    exit_code = 5


class ReturnedError(PdlaunchError):
    """A change failed and the former generation serves again."""

    exit_code = 6
