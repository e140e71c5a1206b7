"""The one door to what ships beside the code: templates and profiles."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def shipped(name: str) -> Path:
    """The folder `name` (``templates``, ``profiles``) from a wheel, an editable install or a checkout.

    A wheel carries the folder inside the package; in a checkout it lies beside the package.
    """
    inside = _PACKAGE / "_shipped" / name
    return inside if inside.is_dir() else _PACKAGE.parent / name
