"""The command, from the file to the answer, against a small engine on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launcher.cli.app import run
from launcher.errors import InputError
from launcher.operations.linting import read_blocks
from launcher.profile import ArgValue
from launcher.rules.linting import Block

from ..knobs.trees import engine

BLOCK = {"id": "a", "role": "decode", "env": {}, "args": {}}


@pytest.fixture(name="package")
def _package(tmp_path: Path) -> Path:
    return engine(tmp_path)


def write(folder: Path, document: Any) -> Path:
    path = folder / "blocks.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_json_is_a_list_with_an_answer_for_each_block(
    tmp_path: Path, package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = {"tp": 2, "backend": "quickest", "pla": 1, "nothing": {"a": 1}, "quick": False}
    blocks = [
        {"id": "fine", "role": "prefill", "env": {"SGLANG_WAIT": 5}, "args": {"tensor-parallel-size": 2}, "more": 1},
        {"id": "bad", "role": "decode", "env": {"SGLANG_WAITS": "5", "MY_OWN": "x"}, "args": bad},
    ]
    code = run(["knobs", "lint", str(write(tmp_path, blocks)), "--engine", str(package), "--json"])
    out, err = capsys.readouterr()
    fine, found = json.loads(out)
    assert (code, err) == (3, "1 of 2 blocks have a flag that is refused or a variable that is unknown\n")
    assert list(fine) == ["id", "rejected_args", "unknown_env", "undeclared_env", "findings"]
    assert (fine["id"], fine["rejected_args"], fine["unknown_env"], fine["undeclared_env"]) == ("fine", {}, [], [])
    assert found["rejected_args"] == {
        "backend": "invalid choice",
        "pla": "unrecognized",
        "nothing": "unrecognized",
    }
    assert (found["unknown_env"], found["undeclared_env"]) == (["SGLANG_WAITS"], ["MY_OWN"])
    waits = next(each for each in found["findings"] if each["name"] == "SGLANG_WAITS")
    assert (waits["section"], waits["severity"], waits["write"]) == ("env", "error", "SGLANG_WAIT: 5")


def test_text_names_the_blocks_with_what_is_wrong(
    tmp_path: Path, package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = [BLOCK, BLOCK | {"id": "b\x1b", "args": {"nothing": 1}, "env": {"MY_OWN": "x"}}]
    assert run(["knobs", "lint", str(write(tmp_path, blocks)), "--engine", str(package)]) == 3
    assert capsys.readouterr().out.splitlines() == [
        "a  ok",
        "b\\x1b",
        "  --nothing  no flag of sglang 0.5.23",
        "  declared by nobody: MY_OWN",
    ]


def test_nothing_wrong_ends_well(tmp_path: Path, package: Path) -> None:
    assert run(["knobs", "lint", str(write(tmp_path, [BLOCK])), "--engine", str(package)]) == 0


def test_values_become_the_words_that_a_process_gets(tmp_path: Path) -> None:
    args = {"--a": 1, "b": 0.85, "c": [1, "x"], "d": {"k": [1]}, "e": True, "f": None}
    env = {"A": 1, "B": True, "C": None}
    (block,) = read_blocks(write(tmp_path, [BLOCK | {"args": args, "env": env}]))
    expected: dict[str, ArgValue] = {"a": "1", "b": "0.85", "c": ("1", "x"), "d": '{"k": [1]}', "e": True, "f": None}
    assert block == Block("a", "decode", {"A": "1", "B": "True", "C": None}, expected)


def test_an_empty_mapping_may_be_null(tmp_path: Path) -> None:
    (block,) = read_blocks(write(tmp_path, [BLOCK | {"args": None, "env": None}]))
    assert block == Block("a", "decode", {}, {})


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([BLOCK]), encoding="utf-8-sig")
    assert [block.id for block in read_blocks(path)] == ["a"]


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("", "blocks.json:1 is not JSON"),
        ("[\n{", "blocks.json:2 is not JSON"),
        ("[" * 100_000, "is not JSON that can be read"),
        ("9" * 5000, "is not JSON that can be read"),
        ("{}", "holds an object, not a list of blocks"),
        ("null", "holds null, not a list"),
        ("[true]", "block 1 is true or false, not an object"),
        ([BLOCK, {"id": "b"}], "block 2 has no role"),
        ([BLOCK | {"id": 1}], "block 1: id is a number, not a text"),
        ([BLOCK | {"env": []}], "block 1: env is a list, not an object"),
        ([BLOCK | {"args": "x"}], "block 1: args is a text, not an object"),
    ],
)
def test_a_file_that_is_none_is_one_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], document: Any, says: str
) -> None:
    assert run(["knobs", "lint", str(write(tmp_path, document)), "--engine", "cpu"]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith("error: ")
    assert says in error
    assert hint.startswith("hint: write a JSON list of ")


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*nowhere"):
        read_blocks(tmp_path / "nowhere")
    with pytest.raises(InputError, match="cannot read"):
        read_blocks(tmp_path)
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe\x00[")
    with pytest.raises(InputError, match="is not JSON that can be read"):
        read_blocks(binary)


def test_the_simulator_refuses_nothing_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["knobs", "lint", str(write(tmp_path, [BLOCK])), "--engine", "simulator"]) == 2
    assert "takes any flag" in capsys.readouterr().err


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
NAMES = st.text(max_size=8) | st.sampled_from(["tp", "tp-size", "sizes", "extra", "quick", "SGLANG_WAIT", "\ud800"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(env=st.dictionaries(NAMES, VALUES, max_size=4), args=st.dictionaries(NAMES, VALUES, max_size=4))
def test_no_value_is_too_odd(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], env: dict[str, Any], args: dict[str, Any]
) -> None:
    """Whatever JSON can hold is judged or passed over: each answer names what stood in its block."""
    package = tmp_path / "sglang"
    if not package.exists():
        engine(tmp_path)
    path = write(tmp_path, [BLOCK | {"env": env, "args": args}])
    assert run(["knobs", "lint", str(path), "--engine", str(package)]) in (
        0,
        3,
    )
    capsys.readouterr()
    assert run(["knobs", "lint", str(path), "--engine", str(package), "--json"]) in (0, 3)
    (found,) = json.loads(capsys.readouterr().out)
    assert {*found["unknown_env"], *found["undeclared_env"]} <= env.keys()
    assert found["rejected_args"].keys() <= {name.removeprefix("--") for name in args}
