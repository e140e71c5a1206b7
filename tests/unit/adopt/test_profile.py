"""Profiles made of servers: what is common stands once, what a profile says by keys is a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from launcher.adopt import Left, find, names, profile_of, settings
from launcher.adopt.translating import full_name
from launcher.rules import simulator_knobs

from .proc_trees import Proc

SERVER = ["python", "-m", "launcher.simulator", "--model-path", "/m", "--context-len", "64"]


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path / "proc")


def document(proc: Proc, **more: Any) -> dict[str, Any]:
    group = find(proc=proc.root)
    by_service = {n: settings(f, {}, simulator_knobs()) for n, f in zip(names(group), group, strict=True)}
    told = {"engine": {"kind": "simulator"}, "router": {}, "safe": {}} | more
    return profile_of("tiny", group, by_service, **told)


def test_a_pair(proc: Proc) -> None:
    both = {"A": "1", "TERM": "xterm"}
    proc.add(10, [*SERVER, "--disaggregation-mode", "prefill", "--port", "1"], environ=both | {"B": "2"})
    proc.add(11, [*SERVER, "--disaggregation-mode", "decode", "--port", "2", "--random-seed", "7"], environ=both)
    assert document(proc) == {
        "name": "tiny",
        "model": {"path": "/m", "name": "/m"},
        "engine": {
            "kind": "simulator",
            "host": "127.0.0.1",
            "args": {"context-length": "64"},
            "env": {"A": "1"},
        },
        "prefill": {"port": 1, "bootstrap_port": 8998, "env": {"B": "2"}},
        "decode": {"port": 2, "args": {"random-seed": "7"}},
    }


def test_replicas_say_only_what_is_their_own(proc: Proc) -> None:
    for pid, port in ((10, 1), (11, 2)):
        words = [*SERVER, "--disaggregation-mode", "decode", "--port", str(port), "--random-seed", "7"]
        proc.add(pid, words, environ={"A": "1", "N": str(port)})
    proc.add(12, [*SERVER, "--disaggregation-mode", "prefill", "--port", "3"], environ={"A": "1"})
    made = document(proc, safe={"N": ["1", "2"]})
    assert made["decode"] == {
        "args": {"random-seed": "7"},
        "replicas": [{"port": 1, "env": {"N": "1"}}, {"port": 2, "env": {"N": "2"}}],
    }
    assert made["knobs"]["N"]["safe"] == ["1", "2"]


def test_what_is_left_is_said_with_its_reason(proc: Proc) -> None:
    environ = {
        "A": "1",
        "LS_COLORS": "x",
        "INVOCATION_ID": "y",
        "PATH": "/bin",
        "PDLAUNCH_X": "1",
        "BASH_FUNC_f%%": "z",
    }
    proc.add(10, [*SERVER, "--api-key", "k", "--nnodes", "1", "--list", "a", "b", "--on"], environ=environ)
    (server,) = find(proc=proc.root)
    made = settings(server, {"--api-key": "/s/api-key"}, simulator_knobs())
    assert made.env == {"A": "1"}
    assert made.args == {"context-length": "64", "list": ["a", "b"], "on": True}
    assert made.left == [
        Left("--model-path /m", "model.path", "owned"),
        Left("--context-len", "written in full: context-length", "spelling"),
        Left("--api-key", "a key on the command line; a profile takes it only by name under `allow`", "secret"),
        Left("--nnodes 1", "nothing in a profile says this", "flag"),
        Left("LS_COLORS", "from a login shell", "variable"),
        Left("INVOCATION_ID", "from systemd", "variable"),
        Left("PATH", "given by pdlaunch itself", "variable"),
        Left("PDLAUNCH_X", "pdlaunch's own name", "variable"),
        Left("BASH_FUNC_f%%", "from a login shell", "variable"),
    ]


def test_names_are_completed_where_the_engine_is_known() -> None:
    assert full_name("context-len", simulator_knobs()) == ("context-length", False)
    assert full_name("context_length", simulator_knobs()) == ("context-length", False)
    assert full_name("context-len", None) == ("context-len", False)
    assert full_name("no-such-flag", simulator_knobs()) == ("no-such-flag", False)
