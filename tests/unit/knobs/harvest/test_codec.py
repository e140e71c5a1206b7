"""Facts through JSON and back."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from launcher.knobs import (
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
from launcher.knobs.harvest.codec import decode_knobs, encode

TEXT = st.text(max_size=8)
NAMES = st.lists(TEXT, max_size=2).map(tuple)
PLACES = st.builds(Place, TEXT, st.integers(1, 99))
VALUES: st.SearchStrategy[Value] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT | st.builds(Unevaluated, TEXT),
    lambda inner: st.lists(inner, max_size=2).map(tuple) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
READERS = st.builds(Reader, TEXT, TEXT, NAMES, NAMES, st.booleans(), st.none() | TEXT)
READS = st.builds(Read, PLACES, TEXT, st.none() | READERS, VALUES, NAMES)
WRITES = st.builds(Write, PLACES, VALUES, TEXT, st.none() | TEXT, NAMES)
FLAGS = st.builds(
    Flag,
    TEXT,
    NAMES,
    TEXT,
    TEXT,
    VALUES,
    choices=st.none() | st.builds(Unevaluated, TEXT) | st.lists(VALUES, max_size=2).map(tuple),
    nargs=st.none() | st.integers(0, 3) | TEXT,
    const=VALUES,
    help=TEXT | st.builds(Unevaluated, TEXT),
    negations=NAMES,
    depends_on=NAMES,
    declared=st.none() | PLACES,
)
KNOBS = st.builds(
    EnvKnob,
    TEXT,
    TEXT,
    default=VALUES,
    reader=st.none() | READERS,
    declared=st.none() | PLACES,
    aliases=NAMES,
    deprecated=st.none() | TEXT,
    reads=st.lists(READS, max_size=2).map(tuple),
    writes=st.lists(WRITES, max_size=2).map(tuple),
    remarks=st.lists(st.builds(Remark, TEXT, TEXT, st.none() | PLACES), max_size=2).map(tuple),
)
ENGINES = st.builds(
    EngineKnobs,
    TEXT,
    st.none() | TEXT,
    st.dictionaries(TEXT, FLAGS, max_size=2),
    st.dictionaries(TEXT, KNOBS, max_size=2),
    st.lists(st.builds(DynamicRead, PLACES, TEXT, st.none() | TEXT), max_size=2).map(tuple),
    st.dictionaries(TEXT, PLACES, max_size=2),
    st.dictionaries(TEXT, PLACES, max_size=2),
    st.dictionaries(TEXT, TEXT, max_size=2),
    st.lists(st.builds(Note, PLACES, TEXT), max_size=2).map(tuple),
    st.booleans(),
)


def plain(knobs: EngineKnobs) -> dict[str, Any]:
    """Every field, mappings as dictionaries, so that two harvests compare by what they hold."""
    found = {each.name: getattr(knobs, each.name) for each in fields(knobs)}
    return found | {name: dict(found[name]) for name in ("flags", "env", "mentions", "compiled", "legacy_prefixes")}


@given(knobs=ENGINES)
def test_what_goes_in_comes_out(knobs: EngineKnobs) -> None:
    assert plain(decode_knobs(json.loads(json.dumps(encode(knobs))))) == plain(knobs)


def test_rows_are_a_mapping() -> None:
    flag = Flag("a", ("a",), "a", "str", None)
    knobs = decode_knobs(encode(EngineKnobs("sglang", None, {"a": flag})))
    assert ("a" in knobs.flags, "b" in knobs.flags, len(knobs.flags), list(knobs.flags)) == (True, False, 1, ["a"])
    assert knobs.flags["a"] is knobs.flags["a"]
    assert knobs.flags == {"a": flag}
