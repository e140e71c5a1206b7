"""`knobs lint`: what an engine makes of flags and variables that stand outside any profile."""

from __future__ import annotations

import json as json_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from launcher.cli.diff_command import DIFFERENT
from launcher.cli.options import Json
from launcher.cli.output import note, say

if TYPE_CHECKING:
    from launcher.profile import Finding
    from launcher.rules.linting import Linted

Engine = Annotated[
    str,
    typer.Option(
        "--engine", metavar="PATH", help="A registered name, an environment, a checkout, the package or a wheel."
    ),
]


def lint(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A JSON list of {id, role, env, args}.")],
    engine: Engine,
    json: Json = False,
) -> int:
    """Say of blocks of flags and variables what an engine refuses or does not know; exit 3 where it does."""
    from launcher.operations.linting import lint_file

    linted = lint_file(file, engine)
    if json:
        # In ASCII: a name that is no Unicode text has to come back as it was written.
        say(json_.dumps(list(map(_data, linted)), indent=2))
    else:
        for block in linted:
            for line in _lines(block):
                say(line)
    wrong = [block for block in linted if block.rejected_args or block.unknown_env]
    note(f"{len(wrong)} of {len(linted)} blocks have a flag that is refused or a variable that is unknown")
    return DIFFERENT if wrong else 0


def _data(linted: Linted) -> dict[str, Any]:
    return {
        "id": linted.id,
        "rejected_args": dict(linted.rejected_args),
        "unknown_env": list(linted.unknown_env),
        "undeclared_env": list(linted.undeclared_env),
        "findings": [
            {
                "name": str(found.path[-1]),
                "section": str(found.path[-2]),
                "severity": found.severity,
                "error": found.error,
                "write": found.write,
            }
            for found in linted.findings
        ],
    }


def _lines(linted: Linted) -> list[str]:
    from launcher.profile.findings import printable

    told = [found for found in linted.findings if found.severity == "error"]
    undeclared = ", ".join(map(printable, linted.undeclared_env))
    return [
        printable(linted.id) if told or undeclared else f"{printable(linted.id)}  ok",
        *(f"  {_said(found)}" for found in told),
        *([f"  declared by nobody: {undeclared}"] if undeclared else ()),
    ]


def _said(found: Finding) -> str:
    from launcher.profile.findings import printable

    sign = "--" if found.path[-2] == "args" else ""
    return f"{sign}{printable(str(found.path[-1]))}  {found.error.splitlines()[0]}"
