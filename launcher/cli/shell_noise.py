"""What a login shell or a unit had left in the environment of an adopted server: told in one line, not in twenty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from launcher.compare import Difference

_SHOWN = 3


def is_noise(difference: Difference) -> bool:
    """Whether it is a variable that no server reads and no profile wrote, there on one side only."""
    change = difference.change
    if change.kind != "env" or (change.before is not None and change.after is not None):
        return False
    from launcher.adopt.leaving import LOGIN, LOGIN_PATTERNS, SYSTEMD  # a room that few differences need

    sides = (change.before, change.after)
    written = any(side and side.origin and side.origin.kind == "profile" for side in sides)
    known = change.name in SYSTEMD | LOGIN or LOGIN_PATTERNS.fullmatch(change.name)
    return bool(known) and not written


def in_a_line(noise: Sequence[Difference]) -> str:
    """``14 variables of the shell or unit that started it: LS_COLORS, TERM, PWD and 11 more``."""
    names = list(dict.fromkeys(difference.change.name for difference in noise))
    rest = f" and {len(names) - _SHOWN} more" if names[_SHOWN:] else ""
    many = "1 variable" if len(names) == 1 else f"{len(names)} variables"
    return f"{many} of the shell or unit that started it: {', '.join(names[:_SHOWN])}{rest}"
