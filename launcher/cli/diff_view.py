"""How differences look: as a list that is read at night, and as data."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from launcher.cli import live_view, said_view
from launcher.cli.shell_noise import in_a_line, is_noise

if TYPE_CHECKING:
    from launcher.compare import Change, Difference, Setting
    from launcher.operations.diffing import Diff
    from launcher.operations.sides import Given
    from launcher.store import About

SCHEMA = 1
MOST_SHOWN = 30
"""Files, packages or decisions of the engine that are listed; all are in the JSON."""
_MANY = frozenset({"source", "package", "decided"})


def text(found: Diff) -> str:
    """The list, what was compared and is the same, and what runs."""
    parts = [_head(found)]
    if found.differences.found:
        parts.append("\n".join(_list(found)))
    parts.append("\n".join(_foot(found)))
    return "\n\n".join(part for part in parts if part)


def _head(found: Diff) -> str:
    count = len(found.differences.found)
    changes = f"{count} change{'' if count == 1 else 's'}, riskiest first" if count else "no difference"
    if found.before is found.after:
        return f"{_side(found.before, found)} against what runs"
    return f"{_side(found.before, found)}  ->  {_side(found.after, found)}: {changes}"


def _side(given: Given, found: Diff) -> str:
    generation = given.generation
    if generation is None:
        return given.side.label
    about = generation.about
    why = f', "{about.why}"' if about.why else ""
    current = ", current" if generation.number == found.current else ""
    return f"{given.side.label} ({when(about.written)}, {about.by}{why}{current})"


def _list(found: Diff) -> Iterator[str]:
    shown: dict[str, int] = {}
    explained = set()
    listed = []
    noise = [difference for difference in found.differences.found if is_noise(difference)]
    rest = [difference for difference in found.differences.found if difference not in noise]
    for number, difference in enumerate(rest, 1):
        kind = difference.change.kind
        shown[kind] = shown.get(kind, 0) + 1
        if kind not in _MANY or shown[kind] <= MOST_SHOWN:
            listed.append((number, difference))
    width = max((len(difference.change.subject) for _, difference in listed), default=0)
    for number, difference in listed:
        change = difference.change
        yield f"{number:>2} {change.subject:<{width}}  {_values(difference)}"
        if told := ", ".join(_notes(change, found.brought.get(change))):
            yield f"     {told}"
        if difference.risk.said:
            yield from said_view.lines(difference.risk.said)
        if difference.risk.name not in explained:
            explained.add(difference.risk.name)
            yield from said_view.wrapped(f"{difference.risk.name}: {difference.risk.why}")
    if noise:
        yield f"   and {in_a_line(noise)}; all of them: --json"
    for many in (name for name, count in shown.items() if name in _MANY and count > MOST_SHOWN):
        yield f"   and {shown[many] - MOST_SHOWN} more of {many}; all of them: --json"


def _values(difference: Difference) -> str:
    change = difference.change
    if change.kind == "source" and change.name:
        what = "added" if change.before is None else "removed" if change.after is None else ""
        return " ".join(part for part in (what, str(difference.edit or "")) if part) or "changed"
    before, after = change.values
    return f"{before} -> {after}"


def _notes(change: Change, brought: About | None) -> Iterator[str]:
    if brought:
        yield f"since {brought.number}, {when(brought.written)}, {brought.by}"
        if brought.why:
            yield f'"{brought.why}"'
    origins = [str(s.origin) for s in (change.before, change.after) if s and s.origin and s.origin.kind == "profile"]
    if origins:
        yield " -> ".join(dict.fromkeys(origins))


def _foot(found: Diff) -> Iterator[str]:
    if found.unjudged:
        yield f"nothing declared is told: {found.unjudged}; pdlaunch knobs says what is wrong"
    if found.touched:
        yield f"same content, touched since: {live_view.several(found.touched)}"
    if found.before is not found.after and found.differences.unchanged:
        yield f"unchanged: {', '.join(found.differences.unchanged)}"
    if found.before is not found.after and found.differences.unknown:
        yield f"not compared, for one side has no record of it: {', '.join(found.differences.unknown)}"
    if found.running is not None and found.current is not None:
        if found.live:
            yield from live_view.text(found.running, found.checkout, found.current)
        else:
            yield live_view.line(found.running, found.current)


def hints(found: Diff) -> Iterator[str]:
    """What one would type next: the edits as a patch, the way back."""
    old, new = (given.generation for given in (found.before, found.after))
    if old is None or new is None or found.differences.equal:
        return
    if any(difference.change.kind == "source" for difference in found.differences.found):
        yield f"pdlaunch diff {old.number} {new.number} --source      the edits as a patch"
    if new.number == found.current:
        yield f"pdlaunch rollback --to {old.number}"


def when(at: dt.datetime) -> str:
    """``today 11:46``, or with the date."""
    local = at.astimezone()
    today = local.date() == dt.datetime.now().astimezone().date()
    return local.strftime("today %H:%M" if today else "%Y-%m-%d %H:%M")


def data(found: Diff) -> dict[str, Any]:
    """The same for programs."""
    return {
        "schema_version": SCHEMA,
        "equal": found.equal,
        "from": _side_data(found.before),
        "to": _side_data(found.after),
        "current": found.current,
        "differences": [_difference(d, found.brought.get(d.change)) for d in found.differences.found],
        "touched": found.touched,
        "unchanged": found.differences.unchanged,
        "not_compared": found.differences.unknown,
        "live": live_view.data(found.running, found.checkout) if found.live and found.running else None,
    }


def _side_data(given: Given) -> dict[str, Any]:
    about = given.generation.about if given.generation else None
    return {"label": given.side.label, "deployment": given.side.plan.deployment, **_about(about)}


def _about(about: About | None) -> dict[str, Any]:
    if about is None:
        return {"generation": None}
    written = about.written.isoformat(timespec="seconds")
    return {"generation": about.number, "written": written, "by": about.by, "why": about.why}


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
        "declared": said_view.data(difference.risk.said) if difference.risk.said else None,
        "brought": _about(brought) if brought else None,
    }


def _setting(setting: Setting | None) -> dict[str, Any] | None:
    return {"value": setting.value, "origin": setting.origin} if setting else None
