"""What a plan would change of the generation that is current: settings, what is done around them, and the source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.compare import Change, CheckoutTree, Setting, SnapshotTree, Tree, changes
from launcher.compare.scope import scope
from launcher.compare.settings import plan_changes
from launcher.compare.source import source_changes
from launcher.engines.manifest import Manifest
from launcher.errors import PdlaunchError
from launcher.plan import Plan
from launcher.render import Layout


@dataclass(frozen=True, slots=True)
class Source:
    """The engine's source as it lies now."""

    manifest: Manifest
    roots: Mapping[str, Path]


def planned_changes(before: Plan, after: Plan, source: Source | None, place: Layout) -> tuple[Change, ...]:
    """Everything that going from `before` to `after` changes; without `source` both run what was recorded."""
    settings = changes(before, after)
    flags = {change.name for change in settings if change.kind == "args"}
    return (*settings, *plan_changes(before, after, flags), *_source(before, after, source, place))


def _source(before: Plan, after: Plan, source: Source | None, place: Layout) -> tuple[Change, ...]:
    old, new = before.engine.snapshot, after.engine.snapshot
    if old is None or new is None or old == new:
        return ()
    roles = {service.name: service.role for service in after.services}
    servers = tuple(name for name, role in roles.items() if role != "router")
    now: Tree = CheckoutTree(source.manifest, source.roots) if source else SnapshotTree(place.engines, new)
    try:
        return source_changes(SnapshotTree(place.engines, old), now, servers, scope(servers, roles)) or ()
    except PdlaunchError:  # a lock whose source was never here
        both = (Setting(digest[:12]) for digest in (old, new))
        return (Change("source", "", servers, scope(servers, roles), *both),)
