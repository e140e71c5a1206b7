"""diff: what changed, who brought it, and how dangerous that is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from launcher.cli.options import Deployment, Json
from launcher.cli.output import print_json, say

if TYPE_CHECKING:
    from launcher.compare import Change, Difference, Setting
    from launcher.operations.diffing import Diff
    from launcher.operations.sides import Given
    from launcher.store import About

SCHEMA = 1
DIFFERENT = 3
"""Exit code."""
MOST_SHOWN = 30
"""Files or packages that are listed; all are in the JSON."""


def diff(
    before: Annotated[
        str | None,
        typer.Argument(metavar="[A]", help="A generation, a lock file or a profile; else the one before the current."),
    ] = None,
    after: Annotated[str | None, typer.Argument(metavar="[B]", help="The other side; else what is current.")] = None,
    deployment: Deployment = None,
    source: Annotated[
        bool, typer.Option("--source", help="Print the edits of the engine's source as a patch.")
    ] = False,
    json: Json = False,
) -> int:
    """Show what differs, the most dangerous first, and who brought it; exit 3 where something does."""
    from launcher.operations.diffing import diff as compare
    from launcher.operations.diffing import source_patch

    found = compare(before, after, deployment=deployment)
    if source:
        for line in source_patch(found):
            say(line)
    elif json:
        print_json(data(found))
    else:
        say(text(found))
    return 0 if found.differences.equal else DIFFERENT


def text(found: Diff) -> str:
    """The list as it is read at night."""
    count = len(found.differences.found)
    changes = f"{count} change{'' if count == 1 else 's'}, riskiest first" if count else "no difference"
    lines = [f"{_side(found.before, found)}  ->  {_side(found.after, found)}: {changes}"]
    if count:
        lines += ["", *_list(found)]
    lines.append("")
    if found.differences.unchanged:
        lines.append(f"unchanged: {', '.join(found.differences.unchanged)}")
    if found.differences.unknown:
        lines.append(f"not compared, as one side has no record of it: {', '.join(found.differences.unknown)}")
    return "\n".join(lines)


def _side(given: Given, found: Diff) -> str:
    generation = given.generation
    if generation is None:
        return given.side.label
    about = generation.about
    why = f', "{about.why}"' if about.why else ""
    current = ", current" if generation.number == found.current else ""
    return f"{given.side.label} ({_when(about.written)}, {about.by}{why}{current})"


def _list(found: Diff) -> Iterator[str]:
    width = max(len(d.change.subject) for d in found.differences.found[:MOST_SHOWN])
    shown: dict[str, int] = {}
    explained = set()
    for number, difference in enumerate(found.differences.found, 1):
        change = difference.change
        shown[change.kind] = shown.get(change.kind, 0) + 1
        if shown[change.kind] > MOST_SHOWN and change.kind in ("source", "package"):
            continue
        yield f"{number:>2} {change.subject:<{width}}  {_values(difference)}"
        if note := ", ".join(_notes(change, found.brought.get(change))):
            yield f"     {note}"
        if difference.risk.name not in explained:
            explained.add(difference.risk.name)
            yield f"     {difference.risk.name}: {difference.risk.why}"
    for kind, count in shown.items():
        if count > MOST_SHOWN and kind in ("source", "package"):
            yield f"   and {count - MOST_SHOWN} more of kind {kind}; all of them: --json"


def _values(difference: Difference) -> str:
    change = difference.change
    if change.kind == "source" and change.name:
        what = "added" if change.before is None else "removed" if change.after is None else ""
        return " ".join(part for part in (what, str(difference.edit or "")) if part) or "changed"
    before, after = change.values
    return f"{before} -> {after}"


def _notes(change: Change, brought: About | None) -> Iterator[str]:
    if brought:
        yield f"since {brought.number}, {_when(brought.written)}, {brought.by}"
        if brought.why:
            yield f'"{brought.why}"'
    origins = [str(s.origin) for s in (change.before, change.after) if s and s.origin and s.origin.kind == "profile"]
    if origins:
        yield " -> ".join(dict.fromkeys(origins))


def _when(at: dt.datetime) -> str:
    local = at.astimezone()
    today = local.date() == dt.datetime.now().astimezone().date()
    return local.strftime("today %H:%M" if today else "%Y-%m-%d %H:%M")


def data(found: Diff) -> dict[str, Any]:
    """The same for programs."""
    return {
        "schema_version": SCHEMA,
        "from": _side_data(found.before),
        "to": _side_data(found.after),
        "current": found.current,
        "equal": found.differences.equal,
        "differences": [_difference(d, found.brought.get(d.change)) for d in found.differences.found],
        "unchanged": found.differences.unchanged,
        "not_compared": found.differences.unknown,
    }


def _side_data(given: Given) -> dict[str, Any]:
    about = given.generation.about if given.generation else None
    return {"label": given.side.label, "deployment": given.side.plan.deployment, **_about(about)}


def _about(about: About | None) -> dict[str, Any]:
    if about is None:
        return {"generation": None}
    when = about.written.isoformat(timespec="seconds")
    return {"generation": about.number, "written": when, "by": about.by, "why": about.why}


def _difference(difference: Difference, brought: About | None) -> dict[str, Any]:
    change = difference.change
    return {
        "subject": change.subject,
        "kind": change.kind,
        "name": change.name,
        "scope": change.scope,
        "services": change.services,
        "before": _setting(change.before),
        "after": _setting(change.after),
        "lines": difference.edit._asdict() if difference.edit else None,
        "risk": {"rank": difference.risk.rank, "name": difference.risk.name, "why": difference.risk.why},
        "brought": _about(brought) if brought else None,
    }


def _setting(setting: Setting | None) -> dict[str, Any] | None:
    return {"value": setting.value, "origin": setting.origin} if setting else None
