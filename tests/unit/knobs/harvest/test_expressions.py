"""Expressions: data is computed as Python would, anything else is said to be unknown."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.knobs.harvest.interpreter import Interpreter
from launcher.knobs.harvest.source import SourceTree
from launcher.knobs.harvest.values import Scope, UnknowableError

from ..trees import engine

MODULE = """
from enum import Enum, IntEnum, auto
import outside
from outside import other
from sglang.srt.starred import *
from .nested import words as nested_words
from sglang.srt import nested
import sglang.srt.nested.words

NUMBER = 3
WORDS = ["b", "a"]
WORDS.append("c")
TABLE = {"one": 1, **{"two": 2}}
if outside.flag():
    EITHER = 1
else:
    EITHER = 2
if NUMBER > 2:
    DECIDED = "yes"
else:
    DECIDED = "no"
try:
    import missing as maybe
except ImportError:
    maybe = None
TOTAL = 0
for each in (1, 2, 3):
    TOTAL += each
CIRCLE = CIRCLE


class Level(IntEnum):
    OFF = 0
    ON = 1


class Kind(Enum):
    RED = "red"
    BLUE = auto()


class Backend:
    FULL = "full"
    ALL = (FULL, "none")


def pick(flag, default="d"):
    if flag:
        return "picked"
    return default


def loops(items):
    for item in items:
        if item == "a":
            return item


def unknown_way():
    if outside.flag():
        return 1
    return 2


def same_way():
    if outside.flag():
        return 1
    else:
        return 1


def forever():
    return forever()
"""


@pytest.fixture(name="interpreter")
def _interpreter(tmp_path: Path) -> Interpreter:
    others = {"srt/starred.py": "FROM_STAR = 'starred'\n", "srt/nested/__init__.py": "from . import words\n"}
    package = engine(tmp_path, {"srt/m.py": MODULE, "srt/nested/words.py": "WORD = 'w'\n", **others})
    return Interpreter(SourceTree(package, name="sglang"))


def value(interpreter: Interpreter, text: str) -> object:
    module = interpreter.tree.module("sglang.srt.m")
    assert module is not None
    return interpreter.value(ast.parse(text, mode="eval").body, Scope(module))


LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(literal=LITERALS)
def test_a_literal_is_what_python_takes_it_for(literal: object, tmp_path_factory: pytest.TempPathFactory) -> None:
    interpreter = Interpreter(SourceTree(engine(tmp_path_factory.mktemp("e"), {"srt/m.py": ""}), name="sglang"))
    assert value(interpreter, repr(literal)) == literal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16384 * 28 * 28", 12845056),
        ("2**31", 2147483648),
        ("-1", -1),
        ("not []", True),
        ("1 < NUMBER <= 3", True),
        ("'a' in WORDS and 'z' not in WORDS", True),
        ("NUMBER and WORDS", ["b", "a", "c"]),
        ("[] or None or 'x'", "x"),
        ("WORDS", ["b", "a", "c"]),
        ("['auto'] + WORDS", ["auto", "b", "a", "c"]),
        ("[*WORDS, 'd'][1:3]", ["a", "c"]),
        ("TABLE['two'] + len(TABLE)", 4),
        ("{**TABLE, 'three': 3}.get('three')", 3),
        ("[w.upper() for w in sorted(WORDS) if w != 'b']", ["A", "C"]),
        ("{k: v for k, v in TABLE.items()}", {"one": 1, "two": 2}),
        ("{w for w in WORDS}", {"a", "b", "c"}),
        ("next(w for w in WORDS if w > 'a')", "b"),
        ("next((w for w in WORDS if w > 'z'), None)", None),
        ("f'{NUMBER}-{DECIDED!r}'", "3-'yes'"),
        ("'x' if NUMBER else outside.thing", "x"),
        ("list(TABLE)", ["one", "two"]),
        ("Level.ON.value + 1", 2),
        ("[m.name.lower() for m in list(Level)]", ["off", "on"]),
        ("Kind.RED.value", "red"),
        ("Backend.ALL", ("full", "none")),
        ("pick(0)", "d"),
        ("pick(1, default='e')", "picked"),
        ("pick(flag='')", "d"),
        ("(lambda a, b=2: a + b)(1)", 3),
        ("loops(['b', 'a'])", "a"),
        ("loops([])", None),
        ("same_way()", 1),
        ("TOTAL", 6),
        ("','.join(WORDS)", "b,a,c"),
        ("(n := 4) + n", 8),
        ("FROM_STAR", "starred"),
        ("nested_words.WORD + nested.words.WORD + sglang.srt.nested.words.WORD", "www"),
    ],
)
def test_what_the_source_decides(interpreter: Interpreter, text: str, expected: object) -> None:
    assert value(interpreter, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "outside.thing()",
        "other is None",
        "other == 1",
        "other + 1",
        "[other] and other",
        "f'{other}'",
        "not other",
        "EITHER",
        "CIRCLE",
        "unknown_way()",
        "forever()",
        "nowhere",
        "9**9**9",
        "1 << 10**9",
        "'x' * 10**9",
        "[0] * 10**9",
        "1 / 0",
        "WORDS[99]",
        "int('x')",
        "open('/etc/passwd')",
        "__import__('os').system('true')",
        "().__class__",
        "eval('1')",
        "Backend.NONE",
        "Level(1)",
        "yes if maybe else no",
        "await outside",
        "f'{NUMBER:>10}'",
        "list(outside.things)",
        "pick(*outside.things)",
        "os.getenv('HOME')",
    ],
)
def test_what_it_does_not_decide_is_unknown(interpreter: Interpreter, text: str) -> None:
    with pytest.raises(UnknowableError):
        value(interpreter, text)


def test_changing_a_value_leaves_what_it_came_from(interpreter: Interpreter) -> None:
    words = value(interpreter, "WORDS")
    assert isinstance(words, list)
    words.append("spoilt")
    assert value(interpreter, "WORDS") == ["b", "a", "c"]
