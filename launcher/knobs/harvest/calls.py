"""The calls that can be answered without running the engine: Python's own constructors and methods of plain data."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from launcher.knobs.harvest.values import Symbol


def _first(items: Any, *default: object) -> object:
    for item in items:
        return item
    if default:
        return default[0]
    raise LookupError("next() of nothing")


BUILTINS: Mapping[str, Callable[..., object]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "dict": dict,
    "enumerate": lambda items, start=0: list(enumerate(items, start)),
    "float": float,
    "frozenset": frozenset,
    "int": int,
    "iter": list,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "next": _first,
    "range": range,
    "repr": repr,
    "reversed": lambda items: list(reversed(items)),
    "set": set,
    "sorted": sorted,
    "str": str,
    "sum": sum,
    "tuple": tuple,
    "zip": lambda *items: list(zip(*items, strict=False)),
}

METHODS: Mapping[type, frozenset[str]] = {
    str: frozenset(
        {
            "capitalize",
            "count",
            "endswith",
            "find",
            "format",
            "index",
            "join",
            "lower",
            "lstrip",
            "partition",
            "removeprefix",
            "removesuffix",
            "replace",
            "rpartition",
            "rsplit",
            "rstrip",
            "split",
            "splitlines",
            "startswith",
            "strip",
            "title",
            "upper",
        }
    ),
    dict: frozenset({"copy", "get", "items", "keys", "pop", "setdefault", "update", "values"}),
    list: frozenset({"append", "copy", "count", "extend", "index", "insert", "pop", "remove", "reverse", "sort"}),
    set: frozenset(
        {"add", "copy", "difference", "discard", "intersection", "issubset", "issuperset", "remove", "union", "update"}
    ),
    frozenset: frozenset({"copy", "difference", "intersection", "issubset", "issuperset", "union"}),
    tuple: frozenset({"count", "index"}),
}

ENVIRONMENT = frozenset({"os.getenv", "os.environ.get"})
"""Reads of the environment: answered as if the variable were not set, and remembered as an assumption."""

CONSTANTS: Mapping[str, object] = {"argparse.SUPPRESS": argparse.SUPPRESS}
"""Names from outside that stand for plain data."""

EXTERNALS: Mapping[str, Callable[..., object]] = {
    # A fresh process has imported none of the modules that plug-ins extend; the harvest describes such a process.
    "sys.modules.get": lambda _name, default=None: default,
    "copy.copy": lambda value: value.copy(),
    "copy.deepcopy": lambda value: value.copy(),
    "typing.cast": lambda _type, value: value,
    "types.MappingProxyType": dict,
    "collections.OrderedDict": dict,
}


def method(base: object, name: str) -> Callable[..., object] | None:
    """The bound method `name` of a piece of plain data, or None where it is not one that is known to be harmless."""
    for kind, names in METHODS.items():
        if type(base) is kind and name in names:
            bound: Callable[..., object] = getattr(base, name)
            return bound
    return None


def external(symbol: Symbol) -> Callable[..., object] | None:
    """The function behind a name from outside the tree, where its answer is known beforehand."""
    return EXTERNALS.get(symbol.name)
