"""Facts as JSON and back: rows without keys, decoded when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from launcher.knobs.facts import (
    DynamicRead,
    EngineKnobs,
    EnvKnob,
    Flag,
    Note,
    Place,
    Read,
    Reader,
    Remark,
    Unevaluated,
    Value,
    Write,
)

T = TypeVar("T")
_UNEVALUATED, _MAPPING = "?", "="


class Rows(Mapping[str, T]):
    """A mapping whose values are decoded on first use: a plan looks at a few flags of five hundred."""

    def __init__(self, rows: Mapping[str, Any], decode: Callable[[Any], T]) -> None:
        self._rows = rows
        self._decode = decode
        self._decoded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._decoded:
            self._decoded[name] = self._decode(self._rows[name])
        return self._decoded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def encode(fact: object) -> Any:
    """A fact, or a value of one, as JSON data."""
    match fact:
        case None | bool() | int() | float() | str():
            return fact
        case Unevaluated(source=source):
            return {_UNEVALUATED: source}
        case Mapping():
            return {_MAPPING: {key: encode(value) for key, value in fact.items()}}
        case tuple():
            return [encode(item) for item in fact]
    if is_dataclass(fact):
        return [encode(getattr(fact, each.name)) for each in fields(fact)]
    raise TypeError(type(fact).__name__)


def decode_knobs(row: list[Any]) -> EngineKnobs:
    """What `encode` made of the knobs of an engine."""
    engine, version, flags, env, dynamic, mentions, compiled, prefixes, notes, whole = row
    return EngineKnobs(
        engine,
        version,
        Rows(flags[_MAPPING], _flag),
        Rows(env[_MAPPING], _env),
        tuple(DynamicRead(Place(*place), *rest) for place, *rest in dynamic),
        {name: Place(*place) for name, place in mentions[_MAPPING].items()},
        {name: Place(*place) for name, place in compiled[_MAPPING].items()},
        prefixes[_MAPPING],
        tuple(Note(Place(*place), text) for place, text in notes),
        whole,
    )


def _value(data: Any) -> Value:
    if isinstance(data, list):
        return tuple(_value(item) for item in data)
    if isinstance(data, dict):
        if _UNEVALUATED in data:
            return Unevaluated(data[_UNEVALUATED])
        return {key: _value(item) for key, item in data[_MAPPING].items()}
    found: Value = data
    return found


def _place(data: list[Any] | None) -> Place | None:
    return None if data is None else Place(*data)


def _flag(row: list[Any]) -> Flag:
    values: dict[str, Any] = dict(zip(_FLAG, map(_value, row), strict=True))
    values["declared"] = _place(row[_FLAG.index("declared")])
    return Flag(**values)


def _env(row: list[Any]) -> EnvKnob:
    data = dict(zip(_ENV, row, strict=True))
    values: dict[str, Any] = {name: _value(item) for name, item in data.items() if name not in _STRUCTURED}
    return EnvKnob(
        **values,
        reader=decode_reader(data["reader"]),
        declared=_place(data["declared"]),
        deprecated_at=_place(data["deprecated_at"]),
        reads=tuple(decode_read(each) for each in data["reads"]),
        writes=tuple(decode_write(each) for each in data["writes"]),
        remarks=tuple(Remark(code, text, _place(place)) for code, text, place in data["remarks"]),
    )


def decode_read(row: list[Any]) -> Read:
    """One read."""
    place, via, reader, default, platforms = row
    return Read(Place(*place), via, decode_reader(reader), _value(default), tuple(platforms))


def decode_write(row: list[Any]) -> Write:
    """One write."""
    place, value, how, when, platforms = row
    return Write(Place(*place), _value(value), how, when, tuple(platforms))


def decode_reader(row: list[Any] | None) -> Reader | None:
    """A reader, where there is one."""
    if row is None:
        return None
    name, kind, true, false, ignores_case, otherwise = row
    return Reader(name, kind, tuple(true), tuple(false), ignores_case, otherwise)


_FLAG = tuple(each.name for each in fields(Flag))
_ENV = tuple(each.name for each in fields(EnvKnob))
_STRUCTURED = frozenset({"reader", "declared", "deprecated_at", "reads", "writes", "remarks"})
