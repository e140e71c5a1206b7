"""Waivers: the one list of what is allowed although it deviates."""

from __future__ import annotations

from launcher.profile.model import Profile
from launcher.profile.tree import KeyPath, dotted


def allows(profile: Profile, path: KeyPath, value: str | None) -> bool:
    """Whether a waiver names the setting at `path` with `value`; without one, the setting as such."""
    what = dotted(path) if value is None else f"{dotted(path)}={value}"
    return any(waiver.what == what for waiver in profile.allow)
