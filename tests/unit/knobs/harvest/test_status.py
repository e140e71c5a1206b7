"""Where a declaration promises more than the engine keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher.knobs import EnvKnob, harvest

from ..trees import ENVIRON, engine


def knob(tmp_path: Path, name: str, source: str = "", *, file: str = "srt/a.py", declared: str = "") -> EnvKnob:
    """The variable of that name in an engine with one more file, and one more line in the registry."""
    environ = ENVIRON.replace("class Envs:\n", f"class Envs:\n    {declared}\n") if declared else ENVIRON
    head = "import os\nfrom sglang.srt.environ import envs\n"
    return harvest(engine(tmp_path, {"srt/environ.py": environ, file: head + source})).env[name]


def remarks(found: EnvKnob) -> list[tuple[str, str]]:
    return [(remark.code, remark.text) for remark in found.remarks]


def test_nothing_reads_it(tmp_path: Path) -> None:
    found = knob(tmp_path, "SGLANG_UNREAD")
    assert remarks(found) == [("unread", "declared, but nothing reads it")]
    assert found.remarks[0].place == found.declared


def test_what_is_read_has_no_remark(tmp_path: Path) -> None:
    assert remarks(knob(tmp_path, "SGLANG_UNREAD", "x = envs.SGLANG_UNREAD.get()")) == []


@pytest.mark.parametrize("other", ["UNREAD", "SGL_UNREAD"])
def test_it_is_read_under_another_name(tmp_path: Path, other: str) -> None:
    found = knob(tmp_path, "SGLANG_UNREAD", f"x = os.getenv('{other}')")
    assert remarks(found) == [("read-as", f"nothing reads it: the engine reads {other}")]
    assert str(found.remarks[0].place) == "srt/a.py:3"


@pytest.mark.parametrize(
    ("file", "part"), [("test/a.py", "test"), ("multimodal_gen/a.py", "diffusion"), ("bench_one.py", "bench")]
)
def test_only_other_parts_read_it(tmp_path: Path, file: str, part: str) -> None:
    found = knob(tmp_path, "SGLANG_UNREAD", "x = envs.SGLANG_UNREAD.get()", file=file)
    assert remarks(found) == [("unread", f"the server does not read it, only: {part}")]


def test_it_may_be_read_by_a_computed_name(tmp_path: Path) -> None:
    found = knob(tmp_path, "SGLANG_UNREAD", "NAMES = {'a': ('SGLANG_UNREAD', 1)}\nx = os.getenv(NAMES[which()][0])")
    assert [code for code, _ in remarks(found)] == ["by-name"]


def test_a_compiled_library_may_read_it(tmp_path: Path) -> None:
    binary = b"\x7fELF\x00SGLANG_UNREADSGLANG_OTHER\x00SGLANG_MORE_WORDS\xff"
    knobs = harvest(engine(tmp_path, {"srt/rust/_server.so": binary}))
    assert remarks(knobs.env["SGLANG_UNREAD"]) == [
        ("compiled", "no source reads it, but a compiled library has its name")
    ]
    assert {text: str(place) for text, place in knobs.compiled.items()} == {
        "SGLANG_UNREADSGLANG_OTHER": "srt/rust/_server.so",
        "SGLANG_MORE_WORDS": "srt/rust/_server.so",
    }


def test_a_library_may_read_it(tmp_path: Path) -> None:
    found = knob(tmp_path, "HF_HUB_OFFLINE", declared="HF_HUB_OFFLINE = EnvBool(False)")
    assert [code for code, _ in remarks(found)] == ["elsewhere"]


def test_the_engine_overwrites_it(tmp_path: Path) -> None:
    found = knob(tmp_path, "A_B", "os.environ['A_B'] = '8'\nif cfg.x:\n    os.environ['A_B'] = str(cfg.y)")
    assert remarks(found) == [
        ("overwritten", "the engine sets it to '8'"),
        ("overwritten", "the engine sets it to the value of str(cfg.y) when cfg.x"),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "os.environ.setdefault('A_B', '8')",
        "if is_hip():\n    os.environ['A_B'] = '8'",
        "with envs.SGLANG_WAIT.override(1):\n    os.getenv('A_B')",
    ],
)
def test_what_leaves_the_operators_value_alone(tmp_path: Path, source: str) -> None:
    assert remarks(knob(tmp_path, "A_B", source)) == []


def test_only_code_for_another_platform_reads_it(tmp_path: Path) -> None:
    found = knob(tmp_path, "A_B", "if is_npu():\n    x = os.getenv('A_B')")
    assert remarks(found) == [("platform", "read only by code for npu")]
    both = knob(tmp_path / "b", "A_B", "if is_npu():\n    x = os.getenv('A_B')\ny = os.getenv('A_B')")
    assert remarks(both) == []


def test_what_was_renamed_and_what_was_turned_round(tmp_path: Path) -> None:
    text = (
        ENVIRON
        + """

def convert():
    for old, new in {"SGLANG_OLD": "SGLANG_WAIT", "SGLANG_DISABLE_FAST": "SGLANG_FAST"}.items():
        if old in os.environ:
            os.environ[new] = os.environ[old]


def deprecate(name):
    if name in os.environ:
        warnings.warn(f"{name} does nothing")


convert()
deprecate("SGLANG_GONE")
"""
    )
    env = harvest(engine(tmp_path, {"srt/environ.py": text})).env
    assert remarks(env["SGLANG_OLD"]) == [("renamed", "renamed: the engine copies its value to SGLANG_WAIT")]
    assert remarks(env["SGLANG_DISABLE_FAST"]) == [
        ("flipped", "renamed to its opposite SGLANG_FAST, to which the engine copies it")
    ]
    assert remarks(env["SGLANG_GONE"]) == [("removed", "deprecated: SGLANG_GONE does nothing")]


@pytest.mark.parametrize(
    ("source", "kind", "default"),
    [
        ("x = int(os.getenv('A_B', '1'))", "int", "1"),
        ("x = int(os.getenv('A_B', '1'))\ny = int(os.getenv('A_B', '2'))", "int", None),
        ("x = int(os.getenv('A_B', '1'))\ny = os.getenv('A_B', '1') == '1'", "mixed", "1"),
        ("x = os.getenv('A_B', '')", "unknown", ""),
        ("x = 'A_B' in os.environ", "presence", None),
        ("x = 'A_B' in os.environ and float(os.environ['A_B'])", "float", None),
        ("x = bool(os.getenv('A_B', []))", "bool", ()),
    ],
)
def test_what_undeclared_reads_agree_on(tmp_path: Path, source: str, kind: str, default: object) -> None:
    found = knob(tmp_path, "A_B", source)
    assert (found.kind, found.default) == (kind, default)


def test_of_two_readers_the_narrower_one(tmp_path: Path) -> None:
    source = "a = os.getenv('A_B') in ('1', 'true', 'on')\nb = os.getenv('A_B') == '1'"
    reader = knob(tmp_path, "A_B", source).reader
    assert reader is not None
    assert reader.true == ("1",)
