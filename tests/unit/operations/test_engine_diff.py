"""`knobs diff` and `check --engine`, between two small engines on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from launcher.cli.app import run
from launcher.engines import register
from launcher.errors import InputError
from launcher.operations.checking import check
from launcher.operations.engine_diff import engine_diff
from launcher.operations.engine_trees import knobs_at
from launcher.render.bundle import Bundle
from launcher.store import Store, layout

from ..compare.making import plan, service
from ..knobs.trees import ENVIRON, FIELDS, engine, write

Engines = tuple[str, str]


@pytest.fixture(name="engines")
def _engines(tmp_path: Path) -> Engines:
    """One engine, and what became of it."""
    fields = FIELDS.replace("port: A[int", "entry: A[int").replace('"Be quick."] = False', '"Be quick."] = True')
    fields = fields.replace('"fast"]', '"faster"]').replace("quick: A", "swift: A")
    environ = ENVIRON.replace("EnvInt(5 * 60)", "EnvInt(60)").replace("SGLANG_UNREAD", "SGLANG_DISABLE_UNREAD")
    changed = {
        "srt/arg_groups/fields/serving.py": fields,
        "srt/environ.py": environ,
        "_version.py": "__version__ = version = '0.6.0'\n",
    }
    return str(engine(tmp_path / "a")), str(engine(tmp_path / "b", changed))


def test_what_stops_comes_first(engines: Engines, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["knobs", "diff", *engines]) == 3
    out, err = capsys.readouterr()
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert rows == [
        "knob before now",
        "removed --port",
        "removed --quick",
        "choices --backend without fast with faster",
        "added --entry",
        "added --swift",
        "flipped SGLANG_UNREAD SGLANG_DISABLE_UNREAD, with the opposite value likely",
        "default SGLANG_WAIT 300 60",
        "added SGLANG_DISABLE_UNREAD",
    ]
    assert err == "sglang 0.5.23 to sglang 0.6.0: 3 added, 2 removed, 1 choices, 1 flipped, 1 default\n"


def test_json_has_the_same(engines: Engines, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["knobs", "diff", *engines, "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["before"], found["after"], found["deployment"]) == ("sglang 0.5.23", "sglang 0.6.0", None)
    assert [change["name"] for change in found["flags"]] == ["port", "quick", "backend", "entry", "swift"]
    wait = next(change for change in found["variables"] if change["name"] == "SGLANG_WAIT")
    assert (wait["kind"], wait["old"], wait["new"], wait["certain"]) == ("default", 300, 60, True)


def test_the_same_engine_is_equal(engines: Engines, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["knobs", "diff", engines[0], engines[0]]) == 0
    assert capsys.readouterr().out == ""
    assert run(["knobs", "diff", engines[0], engines[0], "--json"]) == 0


def deploy(name: str, *, current: bool = True) -> None:
    store = Store(layout(name))
    servers = (
        service("prefill-0", args={"tensor-parallel-size": "2"}),
        service("decode-0", args={"quick": ""}, env={"SGLANG_WAIT": "5"}),
        service("router", args={"port": "8000"}, env={"SGLANG_UNREAD": "1"}),
    )
    made = store.commit(b"name: pd\n", plan(*servers), Bundle({}), snapshot_digest=None, by="a", why="w", source="pd")
    if current:
        store.set_current(made.number, by="a", why="w")


def test_a_deployment_narrows_it_to_what_its_servers_use(engines: Engines) -> None:
    deploy("pd")
    found = engine_diff(*engines, deployment="pd")
    assert [change.name for change in found.flags] == ["quick"]
    assert [change.name for change in found.variables] == ["SGLANG_WAIT"]
    assert (found.deployment, found.equal) == ("pd", False)


def test_a_deployment_without_a_generation_uses_nothing(engines: Engines) -> None:
    deploy("pd", current=False)
    with pytest.raises(InputError, match="pd has no generation"):
        engine_diff(*engines, deployment="pd")
    with pytest.raises(InputError, match="no deployment is called 'other'"):
        engine_diff(*engines, deployment="other")


def test_an_engine_is_a_name_or_a_path(tmp_path: Path, engines: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = tmp_path / "fork"
    write(checkout / "python", {"pyproject.toml": "[project]\nname = 'sglang'\n"})
    engine(checkout / "python")
    register(checkout, "mine")
    monkeypatch.chdir(tmp_path)
    for each in (engines[0], str(Path(engines[0]).parent), str(checkout), "mine", "fork"):
        assert "tp-size" in knobs_at(each).flags, each
    assert knobs_at("simulator").engine == "simulator"
    for wrong in ("nobody", str(tmp_path), str(tmp_path / "nowhere"), "~nobody/x"):
        with pytest.raises(InputError):
            knobs_at(wrong)


PROFILE = """\
name: p
model: /m
engine: {venv: /opt/nowhere, env: {SGLANG_UNREAD: 1}}
prefill: {gpus: 0, args: {quick: true}}
decode: {gpus: 1, args: {backend: fast}}
router: {port: 8000}
"""


def test_check_tells_whether_a_profile_survives_another_engine(
    tmp_path: Path, engines: Engines, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(PROFILE)

    def refused(engine: str | None) -> set[str]:
        return {problem.subject.partition(" ")[0] for problem in check(path, against=engine).errors}

    own = {"prefill.args.quick", "decode.args.backend"}
    assert own.isdisjoint(refused(None) | refused(engines[0]))
    assert own <= refused(engines[1])
    assert run(["check", str(path), "--engine", engines[1], "--json"]) == 2
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert any(each["error"].startswith("no flag of sglang 0.6.0") for each in problems)
    assert run(["check", str(path), "--engine", "nobody"]) == 2
    assert "no engine is called nobody" in capsys.readouterr().err


@pytest.mark.parametrize("words", [(), ("WAIT",), ("--undeclared", "WAIT", "--profile", "nowhere.yaml"), ("--json",)])
def test_knobs_lists_by_itself(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    bare, listed = ((run(["knobs", *before, *words]), *capsys.readouterr()) for before in ((), ("list",)))
    assert bare == listed
    assert bare[1:] != ("", "")
