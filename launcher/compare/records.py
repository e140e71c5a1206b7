"""Two records by name side by side: packages, receipts, rendered files, what engines decided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from launcher.compare.change import Change, Kind, Setting
from launcher.compare.scope import fold


def record_changes(
    kind: Kind, before: Mapping[str, str] | None, after: Mapping[str, str] | None
) -> tuple[Change, ...] | None:
    """What differs, by name; None where one side was not recorded."""
    if before is None or after is None:
        return None
    if before == after:
        return ()
    return tuple(
        Change(kind, name, (), "", _setting(before.get(name)), _setting(after.get(name)))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    )


def decided_changes(
    before: Mapping[str, Mapping[str, str]] | None,
    after: Mapping[str, Mapping[str, str]] | None,
    roles: Mapping[str, str],
) -> tuple[Change, ...] | None:
    """What the engines of both sides decided differently; None where one side was not recorded."""
    if before is None or after is None:
        return None
    if before == after:
        return ()
    single = [
        replace(change, services=(service,), scope=service)
        for service in before.keys() & after.keys()
        for change in record_changes("decided", before[service], after[service]) or ()
    ]
    return fold(sorted(single, key=lambda change: (change.name, change.services)), roles)


def _setting(value: str | None) -> Setting | None:
    return None if value is None else Setting(value)
