"""From the units of a bundle to the files that systemd reads: the generation's number and this machine filled in.

A bundle must not know its generation's number, whose services' files it is, or how this machine is wired. So its units
carry four marks, all of them such that `sed` can do the same where pdlaunch is not installed (see `activate`):

``@NUMBER@``                 the generation's number, anywhere
``@PDLAUNCH@``               the command line's first word, in units that need pdlaunch
``@system@``, ``@user@``     at the beginning of a line: it is for that kind of manager only
``@numa 4 5 6 7@``           a line of its own: what binds the service to those cards' memory node, or nothing
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from launcher.render.systemd.quoting import word

Scope: TypeAlias = Literal["system", "user"]
"""Which manager: root's, or the one of a user (``systemctl --user``)."""
FOLDER, SUFFIX = "systemd", ".in"
"""Where a bundle keeps its units, and what their names end in: they are not to be copied as they are."""
_NUMA = re.compile(r"@numa([0-9 ]*)@\n")


@dataclass(frozen=True, slots=True)
class Command:
    """How units call pdlaunch: its path, and the ``PDLAUNCH_*`` variables that were set when they were installed."""

    path: Path
    environment: Mapping[str, str] = field(default_factory=dict)


def templates(generation: Path) -> Mapping[str, str]:
    """Unit name to text, as the generation's folder holds them; raises OSError where it cannot be read."""
    folder = generation / FOLDER
    return {path.name.removesuffix(SUFFIX): path.read_text("utf-8") for path in sorted(folder.glob(f"*{SUFFIX}"))}


def placed(
    units: Mapping[str, str], number: int, scope: Scope, *, nodes: Mapping[int, int], command: Command | None
) -> Mapping[str, str]:
    """Unit name to text to install, for generation `number`.

    `nodes` is card to memory node, empty where nothing is to be bound: unknown, or one node only. Without `command`
    the units that need pdlaunch are left out. Raises InputError for a path that a unit cannot hold.
    """
    texts = {name: text for name, text in units.items() if command or "@PDLAUNCH@" not in text}
    return {name: _placed(text, number, scope, nodes, command) for name, text in texts.items()}


def _placed(text: str, number: int, scope: Scope, nodes: Mapping[int, int], command: Command | None) -> str:
    other = {"system": "user", "user": "system"}[scope]
    text = re.sub(rf"(?m)^@{other}@.*\n", "", text)
    text = re.sub(rf"(?m)^@{scope}@", "", text)
    text = _NUMA.sub(lambda found: binding(map(int, found[1].split()), nodes), text)
    if command:
        variables = "".join(f"Environment={word(f'{n}={v}')}\n" for n, v in sorted(command.environment.items()))
        text = text.replace("@ENVIRONMENT@\n", variables).replace("@PDLAUNCH@", word(str(command.path)))
    return text.replace("@NUMBER@", str(number))


def binding(cards: Iterable[int], nodes: Mapping[int, int]) -> str:
    """The lines that keep a service near its cards; none where they are on several nodes or it is not known."""
    found = {nodes.get(card) for card in cards}
    if len(found) != 1 or None in found:
        return ""
    return f"NUMAPolicy=preferred\nNUMAMask={found.pop()}\nCPUAffinity=numa\n"
