"""What differs between the intents of two locks outside their services: place by place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from launcher.lock.model import Intent


class Difference(NamedTuple):
    """One place that differs; a side that has no such place is None."""

    place: str
    """``engine.source.head``."""
    before: str | None
    after: str | None

    def __str__(self) -> str:
        before, after = (side if side is not None else "absent" for side in (self.before, self.after))
        return f"{self.place}  {before} -> {after}"


def differences(before: Intent, after: Intent) -> tuple[Difference, ...]:
    """Every place that differs, in the order of the file.

    Services are left out, and so are the digests of the files that follow from a service that differs.
    """
    old, new = _flat(before), _flat(after)
    left, right = before.services_digests, after.services_digests
    changed = {f"bundle.{name}.sh" for name in left.keys() | right.keys() if left.get(name) != right.get(name)}
    return tuple(
        Difference(place, old.get(place), new.get(place))
        for place in dict.fromkeys((*old, *new))
        if old.get(place) != new.get(place) and place not in changed
    )


def _flat(intent: Intent) -> dict[str, str]:
    values = intent.model_dump(mode="json", exclude={"services", "profile"})
    found = {place: _shown(value) for place, value in _walk(values)}
    return {**found, "profile": (intent.profile or "none")[:12]}


def _walk(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        place = f"{above}.{key}" if above else key
        if isinstance(value, Mapping) and value:
            yield from _walk(value, place)
        elif value not in ({}, []):
            yield place, value


def _shown(value: Any) -> str:
    """A digest by its beginning; the rest as it is."""
    text = "none" if value is None else str(value)
    return text[:12] if len(text) in {32, 40, 64} and not set(text) - set("0123456789abcdef") else text
