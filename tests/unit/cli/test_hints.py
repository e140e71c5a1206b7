"""Every command in a hint does what it says when it is pasted, also beside other deployments."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import launcher
from launcher.cli.app import build
from launcher.cli.hints import _COMMAND, SCOPED, complete
from launcher.store import Store, give_name, layout

from ..store.making import BUNDLE, PROFILE, a_plan
from .conftest import Shell

HOME = Path(launcher.__file__).parent
ALL = typer.main.get_command(build()).commands  # type: ignore[attr-defined]


def test_the_commands_that_choose_a_deployment_are_these() -> None:
    chooses = {name for name, command in ALL.items() if any("--deployment" in p.opts for p in command.params)}
    assert chooses == SCOPED


@pytest.mark.parametrize(
    ("hint", "completed"),
    [
        ("pdlaunch history", "pdlaunch history -d a"),
        ("pdlaunch history shows the others", "pdlaunch history -d a shows the others"),
        (
            "pdlaunch logs x, then pdlaunch restart x",
            "pdlaunch logs -d a x, then pdlaunch restart -d a x",
        ),
        ("sudo pdlaunch rollback --to 1", "sudo pdlaunch rollback -d a --to 1"),
        ("free them with `pdlaunch down -d b`", "free them with `pdlaunch down -d b`"),
        ("make room (`pdlaunch prune`, `df -h x`)", "make room (`pdlaunch prune -d a`, `df -h x`)"),
        ("pdlaunch up PROFILE", "pdlaunch up PROFILE"),
        ("pdlaunch lock PROFILE --check", "pdlaunch lock PROFILE --check"),
        ("pdlaunch lock a.yaml writes it", "pdlaunch lock a.yaml writes it"),
        ("pdlaunch engine add PATH", "pdlaunch engine add PATH"),
        ("pdlaunch rollback --help", "pdlaunch rollback --help"),
        ("did you mean noon?", "did you mean noon?"),
    ],
)
def test_a_command_gets_the_deployment_where_it_has_none(hint: str, completed: str) -> None:
    assert complete(hint, "a") == completed
    assert complete(hint, None) == hint
    assert complete(completed, "a") == completed


def hints() -> Iterator[tuple[str, str]]:
    """Every text of the source that tells of a command, with its place; what is filled in stands as ``x``."""
    for path in sorted(HOME.rglob("*.py")):
        tree = ast.parse(path.read_text())
        documentation = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                text = "".join(str(p.value) if isinstance(p, ast.Constant) else "x" for p in node.values)
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and id(node) not in documentation | inside
            ):
                text = node.value
            else:
                continue
            if "pdlaunch " in text:
                yield f"{path.relative_to(HOME)}:{node.lineno}", text


@pytest.mark.parametrize(("place", "text"), [pytest.param(p, t, id=p) for p, t in hints()])
def test_every_command_that_is_told_exists_with_its_options(place: str, text: str) -> None:
    for found in _COMMAND.finditer(text):
        if found["verb"] not in ALL or found["verb"] in ("knobs", "engine"):
            continue
        options = {word.partition("=")[0].strip(".,:'\"") for word in found["rest"].split() if word.startswith("--")}
        known = {option for p in ALL[found["verb"]].params for option in p.opts} | {"--help"}
        assert options <= known, f"{place}: {text}"


@pytest.fixture
def two() -> Store:
    """Two deployments that were recorded; the store of ``tiny``."""
    for name in ("other", "tiny"):
        store = Store(layout(name))
        for _ in range(2):
            plan = a_plan().model_copy(update={"deployment": name})
            store.commit(PROFILE, plan, BUNDLE, snapshot_digest=None, by="anna")
        store.set_current(1, by="anna")
        store.set_current(2, by="anna")
    return store


@pytest.mark.parametrize(
    "words",
    [
        "history 9",
        "history -9",
        "history noon",
        "history 2h",
        "rollback --to 1",
        "rollback --to good",
        "diff nothing",
        "diff 1 --live -d tiny extra",
        "name noon 9",
        "name --list",
        "name noon",
        "verify",
        "verify 7",
        "logs nobody",
        "restart nobody",
        "status",
    ],
)
def test_what_a_command_hints_at_works_when_it_is_pasted(two: Store, shell: Shell, words: str) -> None:
    give_name(two, "noon", 1, by="anna")
    said = shell(*words.split(), *([] if "-d" in words else ["-d", "tiny"]))
    for line in said.err.splitlines():
        if not line.startswith("hint: "):
            continue
        for found in _COMMAND.finditer(line):
            if found["verb"] in SCOPED and "--help" not in found["rest"]:
                assert " -d tiny" in found[0], line
    pasted = [line.removeprefix("hint: ") for line in said.err.splitlines() if line.startswith("hint: pdlaunch ")]
    for line in pasted:
        try:
            command = shlex.split(line)[1:]
        except ValueError:
            continue
        assert "there are several deployments" not in shell(*command).err


def test_one_of_several_must_be_named(two: Store, shell: Shell) -> None:
    assert two.layout.deployment == "tiny"
    said = shell("history")
    assert (said.code, said.err) == (
        2,
        "error: there are several deployments: other, tiny\nhint: say which: -d other\n",
    )


def test_status_tells_of_all_also_as_json(two: Store, shell: Shell) -> None:
    import json

    said = shell("status", "--json")
    found = json.loads(said.out)
    assert [d["deployment"] for d in found["deployments"]] == ["other", "tiny"]
    assert (found["schema_version"], found["errors"]) == (1, [])
    manifest = two.layout.generation(2) / "manifest.json"
    manifest.parent.chmod(0o755)
    manifest.unlink()
    said = shell("status", "--json")
    found = json.loads(said.out)
    assert (said.code, [d["deployment"] for d in found["deployments"]]) == (1, ["other"])
    assert found["errors"][0]["deployment"] == "tiny"
    assert json.loads(shell("status", "--json", "-d", "other").out)["deployment"] == "other"


class TestTheOneBefore:
    """``-1`` wherever a generation may stand."""

    @pytest.mark.parametrize("words", ["history -1", "diff -1", "diff -1 2", "name noon -1 --dry-run", "verify -1"])
    def test_it_is_no_option(self, two: Store, shell: Shell, words: str) -> None:
        said = shell(*words.split(), "-d", two.layout.deployment)
        assert "No such option" not in said.err
        assert said.code in (0, 3), said.err

    @pytest.mark.usefixtures("two")
    def test_it_is_what_served_before(self, shell: Shell) -> None:
        assert shell("history", "-1", "-d", "tiny").out.startswith("generation 1  ")
        assert shell("name", "noon", "-1", "-d", "tiny").out == "named  noon = generation 1 of tiny\n"

    @pytest.mark.parametrize(
        "words", ["history --lvie", "diff -x", "diff 1 --lives", "name noon --movee", "logs --folow"]
    )
    def test_a_slip_is_still_refused(self, two: Store, shell: Shell, words: str) -> None:
        said = shell(*words.split(), "-d", two.layout.deployment)
        assert (said.code, said.out) == (2, "")
        assert f"No such option: {words.rsplit(maxsplit=1)[-1]}" in said.err

    def test_behind_two_dashes_it_is_an_argument_whatever_it_is(self, shell: Shell, two: Store) -> None:
        said = shell("history", "-d", two.layout.deployment, "--", "--lvie")
        assert "'--lvie' is no generation" in said.err
