from __future__ import annotations

from pathlib import Path

import pytest

from launcher.errors import Problem
from launcher.knobs import EngineKnobs, EnvKnob, Flag, Place, Reader, Unevaluated
from launcher.profile import examine
from launcher.rules import check_values

BOOL = Reader("EnvBool", "bool", ("1", "true", "yes"), ("0", "false", "no"), ignores_case=True, otherwise="default")
INT = Reader("EnvInt", "int", otherwise="default")
FLAGS = {
    "length": Flag("length", ("length",), "length", "int", None),
    "fraction": Flag("fraction", ("fraction",), "fraction", "float", None),
    "json": Flag("json", ("json",), "json", "json.loads", None),
    "dtype": Flag("dtype", ("dtype",), "dtype", "str", "auto", choices=("auto", "fp8_e4m3", None)),
    "parser": Flag("parser", ("parser",), "parser", "str", None, choices=(Unevaluated("names()"),)),
    "sizes": Flag("sizes", ("sizes",), "sizes", "int", None, nargs="+"),
    "maybe": Flag("maybe", ("maybe",), "maybe", "str", None, nargs="?"),
    "quiet": Flag("quiet", ("quiet",), "quiet", "bool", default=False, nargs=0, action="store_true"),
}
ENV = {
    "COUNT": EnvKnob(
        "COUNT", "int", 300, reader=Reader("EnvInt", "int", otherwise="default"), declared=Place("environ.py", 7)
    ),
    "SHARE": EnvKnob("SHARE", "float", reader=Reader("EnvFloat", "float", otherwise="error")),
    "SWITCH": EnvKnob("SWITCH", "bool", default=False, reader=BOOL),
    "OBJECT": EnvKnob("OBJECT", "json", reader=Reader("EnvJSON", "json", otherwise=None)),
    "FREE": EnvKnob("FREE", "unknown"),
}
KNOBS = EngineKnobs("sglang", "0.5.23", flags=FLAGS, env=ENV)


def problems(tmp_path: Path, decode: str) -> list[Problem]:
    path = tmp_path / "x.yaml"
    text = f"name: x\nengine: {{kind: cpu}}\nprefill: {{}}\ndecode: {decode}\nrouter: {{port: 1, args: {{length: x}}}}"
    path.write_text(text, encoding="utf-8")
    examined = examine(path)
    assert examined.problems == ()
    return check_values(examined.loaded, KNOBS)


@pytest.mark.parametrize(
    ("written", "says", "write"),
    [
        ("length: 4k", "not a whole number", "length: 4"),
        ("length: 1e3", "not a whole number", "length: 1"),
        ("length: true", "takes a value", "length: ..."),
        ("length: [1, 2]", "one value, not a list", None),
        ("sizes: [1, x]", "not a whole number", None),
        ("fraction: high", "not a number", None),
        ("json: '{'", "not JSON", "json: {key: value}"),
        ("dtype: fp8_e4m4", "not one of auto, fp8_e4m3", "dtype: fp8_e4m3"),
        ("dtype: true", "takes a value", "dtype: auto"),
        ("quiet: 1", "a switch: true or false", "quiet: true"),
    ],
)
def test_flags_that_are_given_something_else(tmp_path: Path, written: str, says: str, write: str | None) -> None:
    (problem,) = problems(tmp_path, f"{{args: {{{written}}}}}")
    assert problem.severity == "error"
    assert says in problem.error
    assert problem.write == write


@pytest.mark.parametrize(
    "written",
    [
        *("length: -1", "length: ~", "length: false", "fraction: .5", "fraction: 1e3", "json: {a: 1}"),
        *("dtype: auto", "parser: any", "sizes: [1, 2]", "sizes: 1", "maybe: true"),
        *("quiet: true", "quiet: false", "unknown: x"),
    ],
)
def test_flags_that_are_given_what_they_take(tmp_path: Path, written: str) -> None:
    assert problems(tmp_path, f"{{args: {{{written}}}}}") == []


@pytest.mark.parametrize(
    ("written", "says", "write"),
    [
        ("COUNT: 600s", "not a whole number; the engine would warn once and use 300  environ.py:7", "COUNT: 600"),
        ("COUNT: true", "a number is meant, not a switch  environ.py:7", "COUNT: 1"),
        ("SHARE: half", "not a number; the engine would stop", None),
        ('SWITCH: "on"', "neither true nor false; the engine would warn once and use False", "SWITCH: true"),
        ("OBJECT: '{'", "not JSON; the engine would read something else", None),
    ],
)
def test_variables_that_their_reader_cannot_parse(tmp_path: Path, written: str, says: str, write: str | None) -> None:
    (problem,) = problems(tmp_path, f"{{env: {{{written}}}}}")
    assert problem.error == says
    assert problem.write == write


@pytest.mark.parametrize(
    "written",
    ["COUNT: 600", "COUNT: ~", "SHARE: 0.5", "SWITCH: true", 'SWITCH: "YES"', "FREE: x", "OTHER: x"],
)
def test_variables_that_their_reader_parses(tmp_path: Path, written: str) -> None:
    assert problems(tmp_path, f"{{env: {{{written}}}}}") == []
