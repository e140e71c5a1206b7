"""Two records by name side by side: packages, receipts, rendered files."""

from __future__ import annotations

from collections.abc import Mapping

from launcher.compare.change import Change, Kind, Setting


def record_changes(
    kind: Kind, before: Mapping[str, str] | None, after: Mapping[str, str] | None
) -> tuple[Change, ...] | None:
    """What differs, by name; None where one side was not recorded."""
    if before is None or after is None:
        return None
    return tuple(
        Change(kind, name, (), "", _setting(before.get(name)), _setting(after.get(name)))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    )


def _setting(value: str | None) -> Setting | None:
    return None if value is None else Setting(value)
