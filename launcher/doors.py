"""Doors of rooms that open one part at a time: a command that reads records loads nothing of what judges profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def later(room: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """The ``__getattr__`` of `room`, which loads a name of `places` from its module when it is first asked for.

    A place is the module, or ``module:name`` where the name there is another one. A name must differ from every module
    of the room: importing a module puts it under its own name into the room.
    https://peps.python.org/pep-0562/
    """

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {room!r} has no attribute {name!r}")
        module, _, there = places[name].partition(":")
        return getattr(import_module(f"{room}.{module}"), there or name)

    return load
