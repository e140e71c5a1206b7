"""What another version does to flags and variables."""

from __future__ import annotations

import pytest

from launcher.knobs import Change, EngineKnobs, EnvKnob, Flag, Place, Read, env_changes, flag_changes

HERE = Place("srt/a.py", 1)


def flags(*given: Flag) -> EngineKnobs:
    return EngineKnobs("sglang", None, {flag.name: flag for flag in given})


def flag(name: str, default: int | None = None, **more: object) -> Flag:
    known: dict[str, object] = {"options": (name,), "dest": name.replace("-", "_"), "type": "int"}
    return Flag(name=name, default=default, **(known | more))  # type: ignore[arg-type]  # a test's shorthand


def env(*given: EnvKnob) -> EngineKnobs:
    return EngineKnobs("sglang", None, {}, {knob.name: knob for knob in given})


def declared(name: str, kind: str = "bool", default: object = False, **more: object) -> EnvKnob:
    return EnvKnob(name, kind, default=default, declared=HERE, **more)  # type: ignore[arg-type]  # likewise


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ([flag("a")], [flag("a")], []),
        ([], [flag("a")], [Change("added", "a")]),
        ([flag("a-long-name")], [], [Change("removed", "a-long-name")]),
        ([flag("a", 1)], [flag("a", 2)], [Change("default", "a", old=1, new=2)]),
        ([flag("a", 1)], [flag("a", True)], [Change("default", "a", old=1, new=True)]),
        ([flag("a", type="int")], [flag("a", type="str")], [Change("type", "a", old="int", new="str")]),
        ([flag("a", nargs="+")], [flag("a", nargs="*")], [Change("type", "a", old="int +", new="int *")]),
        (
            [flag("a", choices=("x", "y"))],
            [flag("a", choices=("y", "z"))],
            [Change("choices", "a", old=("x",), new=("z",))],
        ),
        ([flag("a")], [flag("a", deprecated="Use --b.", replaced_by="--b")], [Change("deprecated", "a", "--b")]),
        ([flag("a")], [flag("a", refused=True, deprecated="Gone.")], [Change("removed", "a")]),
        ([flag("a")], [flag("b", options=("b", "a"))], []),
        ([flag("old", dest="size")], [flag("new", dest="size")], [Change("renamed", "old", "new")]),
        (
            [flag("nsa-decode-backend")],
            [flag("dsa-decode-backend")],
            [
                Change("added", "dsa-decode-backend"),
                Change("renamed", "nsa-decode-backend", "dsa-decode-backend", certain=False),
            ],
        ),
        (
            [flag("graph-max-bs")],
            [flag("graph-max-bs-decode"), flag("graph-max-bs-prefill")],
            [
                Change("split", "graph-max-bs", new=("graph-max-bs-decode", "graph-max-bs-prefill")),
                Change("added", "graph-max-bs-decode"),
                Change("added", "graph-max-bs-prefill"),
            ],
        ),
    ],
)
def test_flags(old: list[Flag], new: list[Flag], changes: list[Change]) -> None:
    assert list(flag_changes(flags(*old), flags(*new))) == changes


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ([declared("A_B_C")], [declared("A_B_C")], []),
        ([declared("A_B_C")], [], [Change("removed", "A_B_C")]),
        ([declared("A", default=1)], [declared("A", default=2)], [Change("default", "A", old=1, new=2)]),
        ([declared("A", "int")], [declared("A", "float")], [Change("type", "A", old="int", new="float")]),
        (
            [declared("OLD")],
            [declared("NEW"), EnvKnob("OLD", "bool", replaced_by="NEW", deprecated_at=HERE)],
            [Change("renamed", "OLD", "NEW")],
        ),
        (
            [declared("SGLANG_DISABLE_CHECK")],
            [declared("SGLANG_ENABLE_CHECK")],
            [
                Change("flipped", "SGLANG_DISABLE_CHECK", "SGLANG_ENABLE_CHECK", certain=False),
                Change("added", "SGLANG_ENABLE_CHECK"),
            ],
        ),
        (
            [declared("SGLANG_DISABLE_CHECK")],
            [
                declared("SGLANG_CHECK"),
                EnvKnob("SGLANG_DISABLE_CHECK", "bool", replaced_by="SGLANG_CHECK", deprecated_at=HERE),
            ],
            [Change("flipped", "SGLANG_DISABLE_CHECK", "SGLANG_CHECK")],
        ),
        ([EnvKnob("ONLY_SET", "unknown")], [], []),
        ([EnvKnob("READ", "int", reads=(Read(HERE, "os.getenv"),))], [], [Change("removed", "READ")]),
    ],
)
def test_variables(old: list[EnvKnob], new: list[EnvKnob], changes: list[Change]) -> None:
    assert list(env_changes(env(*old), env(*new))) == changes
