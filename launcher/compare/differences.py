"""Everything that differs between two sides: what is known bad, what nobody calls safe, then the riskiest kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from launcher.compare.change import Change
from launcher.compare.records import decided_changes, record_changes
from launcher.compare.risk import Risk, risk_of
from launcher.compare.scope import scope
from launcher.compare.settings import changes, plan_changes
from launcher.compare.side import Side
from launcher.compare.source import Edit, edit, source_changes

Judge: TypeAlias = Callable[[Change], Risk]
MOST_COUNTED = 200
"""Edited files whose lines are counted; more of them are another version of the engine, no edits."""
_KINDS = (
    "args",
    "env",
    "secrets",
    "service",
    "gpus",
    "ports",
    "run",
    "plan",
    "source",
    "package",
    "receipt",
    "decided",
    "file",
)
_AREAS = {
    "args": "settings",
    "env": "settings",
    "run": "settings",
    "service": "services",
    "secrets": "secrets",
    "ports": "ports",
    "gpus": "GPUs",
    "plan": "readiness and stopping",
    "source": "source",
    "package": "packages",
    "receipt": "machine and model",
    "decided": "what the engine decides",
    "file": "scripts",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One change, how dangerous its kind is, and for a file by how many lines."""

    change: Change
    risk: Risk
    edit: Edit | None = None


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs from `before` to `after`, riskiest first."""

    before: Side
    after: Side
    found: tuple[Difference, ...]
    unchanged: tuple[str, ...]
    """What was compared and is the same, in words."""
    unknown: tuple[str, ...]
    """What one of the sides has no record of."""

    @property
    def equal(self) -> bool:
        """Whether nothing differs of what could be compared."""
        return not self.found


def differences(before: Side, after: Side, judge: Judge = risk_of) -> Differences:
    """Compare two sides; `judge` says how dangerous a change is.

    Raises PdlaunchError where the manifest of a snapshot is damaged.
    """
    settings = changes(before.plan, after.plan, (before.fingerprints, after.fingerprints))
    flags = {change.name for change in settings if change.kind == "args"}
    of_plan = plan_changes(before.plan, after.plan, flags)
    roles = {s.name: s.role for s in (*before.plan.services, *after.plan.services)}
    records = {
        "source": source_changes(before.tree, after.tree, *_readers(roles)),
        "package": record_changes("package", before.packages, after.packages),
        "receipt": record_changes("receipt", before.receipt, after.receipt),
        "decided": decided_changes(before.decided, after.decided, roles),
    }
    explained = settings or of_plan or records["source"]  # a script names the snapshot that it runs
    files = () if explained else record_changes("file", before.bundle, after.bundle)
    every = [*settings, *of_plan, *(c for part in (*records.values(), files) for c in part or ())]
    found = _each_once([Difference(change, judge(change)) for change in every])
    kinds = {difference.change.kind for difference in found}
    unknown = [kind for kind, part in (*records.items(), ("file", files)) if part is None]
    return Differences(
        before,
        after,
        _ranked(found, before, after),
        _unchanged(kinds | set(unknown) | ({"file"} if found else set())),
        tuple(_AREAS[kind] for kind in unknown),
    )


def _readers(roles: Mapping[str, str]) -> tuple[tuple[str, ...], str]:
    """The services that run the source: all but the router."""
    names = tuple(sorted(name for name, role in roles.items() if role != "router"))
    return names, scope(names, roles)


def _each_once(found: list[Difference]) -> list[Difference]:
    """Without the waivers that came or went with a value: they are told with it."""
    said = [difference.risk.said for difference in found if difference.risk.said]
    told = {f"allow {v.waiver.what}" for s in said for v in (s.before, s.after) if v and v.waiver}
    return [d for d in found if d.change.name not in told or (d.change.before and d.change.after)]


def _ranked(found: list[Difference], before: Side, after: Side) -> tuple[Difference, ...]:
    found.sort(key=lambda d: (d.risk.alarm, d.risk.rank, _KINDS.index(d.change.kind), d.change.scope, d.change.name))
    files = [d for d in found if d.change.kind == "source" and d.change.name]
    if not files or len(files) > MOST_COUNTED:
        return tuple(found)
    return tuple(_counted(d, before, after) if d in files else d for d in found)


def _counted(difference: Difference, before: Side, after: Side) -> Difference:
    lines = edit(before.tree, after.tree, difference.change)
    return Difference(difference.change, difference.risk, lines)


def _unchanged(differing: set[str]) -> tuple[str, ...]:
    areas = {_AREAS[kind] for kind in differing}
    return tuple(area for area in dict.fromkeys(_AREAS.values()) if area not in areas)
