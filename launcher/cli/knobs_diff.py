"""`knobs diff`: what an upgrade does to flags and variables."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from launcher.cli.diff_command import DIFFERENT
from launcher.cli.options import Json
from launcher.cli.output import note, print_json, say, table

if TYPE_CHECKING:
    from launcher.knobs import Change, Value

_LONGEST = 48
"""Letters of a value in a row."""


def diff(
    before: Annotated[str, typer.Argument(metavar="ENGINE_A", help="A registered name, or a path.")],
    after: Annotated[str, typer.Argument(metavar="ENGINE_B", help="The engine that takes its place.")],
    deployment: Annotated[
        str | None, typer.Option("-d", "--deployment", metavar="NAME", help="Only what this deployment uses.")
    ] = None,
    json: Json = False,
) -> int:
    """Show what another engine adds, removes, renames, re-defaults or flips; exit 3 where something differs."""
    from launcher.operations.engine_diff import engine_diff

    found = engine_diff(before, after, deployment=deployment)
    if json:
        data = {"before": found.before, "after": found.after, "deployment": found.deployment}
        changes = {"flags": list(map(_data, found.flags)), "variables": list(map(_data, found.variables))}
        print_json({"schema_version": 1, **data, **changes})
        return 0 if found.equal else DIFFERENT
    rows = [("", "knob", "before", "now")]
    rows += [_row(change, "--") for change in found.flags] + [_row(change, "") for change in found.variables]
    if len(rows) > 1:
        say(table(rows))
    whose = f" of what {found.deployment} uses" if found.deployment else ""
    note(f"{found.before} to {found.after}{whose}: {_counted((*found.flags, *found.variables))}")
    return 0 if found.equal else DIFFERENT


def _data(change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "name": change.name,
        "new_name": change.new_name,
        "old": _plain(change.old),
        "new": _plain(change.new),
        "certain": change.certain,
    }


def _plain(value: Value) -> Any:
    """The value as JSON has it; an expression that the source does not evaluate as text."""
    from launcher.knobs import Unevaluated

    match value:
        case Unevaluated():
            return str(value)
        case tuple():
            return [_plain(each) for each in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            return {key: _plain(each) for key, each in value.items()}


def _row(change: Change, dashes: str) -> tuple[str, str, str, str]:
    return change.kind, f"{dashes}{change.name}", *_sides(change, dashes)


def _sides(change: Change, dashes: str) -> tuple[str, str]:
    likely = "" if change.certain else "  likely"
    match change.kind:
        case "renamed" | "deprecated":
            return "", f"{dashes}{(change.new_name or '').lstrip('-')}{likely}" if change.new_name else ""
        case "flipped":
            return "", f"{dashes}{change.new_name}, with the opposite value{likely}"
        case "split":
            return "", ", ".join(f"{dashes}{_text(part)}" for part in _parts(change.new))
        case "choices":
            lost, gained = (", ".join(map(_text, _parts(side))) for side in (change.old, change.new))
            return f"without {_cut(lost)}" if lost else "", f"with {_cut(gained)}" if gained else ""
        case "default" | "type":
            return _cut(_text(change.old)), _cut(_text(change.new))
        case _:
            return "", ""


def _parts(value: Value) -> tuple[Value, ...]:
    return value if isinstance(value, tuple) else (value,)


def _text(value: Value) -> str:
    return "unset" if value is None else " ".join(str(value).split())


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _counted(changes: tuple[Change, ...]) -> str:
    count = Counter(change.kind for change in changes)
    return ", ".join(f"{number} {kind}" for kind, number in count.most_common()) or "nothing differs"
