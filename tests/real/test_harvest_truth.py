"""The harvest against what the engines themselves say: their own parser, their registry executed, old versions."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from launcher.engines import EngineFacts, describe
from launcher.engines.cpu import CPU_ENGINE_ENV, home
from launcher.knobs import EngineKnobs, Unevaluated, Unknown, Value, find_env, flag_changes, harvest, harvest_router
from launcher.knobs.harvest.files import Listing
from launcher.knobs.harvest.sweep import joined, sweep
from launcher.knobs.harvest.wheel import unpacked

pytestmark = pytest.mark.real

SCRIPT = Path(__file__).with_name("declared_by_engine.py")
CPU_ENGINE = home() / "venv"
"""This machine's own, asked for before any test is given folders of its own."""
OLD = {"0.5.6": (289, 127), "0.5.12": (388, 295)}
"""Versions with ``add_argument`` throughout: flags with ``--help``, and declared variables, counted by hand."""


@pytest.fixture(scope="module", name="engine")
def _engine() -> EngineFacts:
    """The CPU engine on this machine, SGLang 0.5.23; this test is about it, so it cannot do without."""
    return describe(CPU_ENGINE)


@pytest.fixture(scope="module", name="knobs")
def _knobs(engine: EngineFacts) -> EngineKnobs:
    return harvest(engine.package)


@pytest.fixture(scope="module", name="wheels")
def _wheels(request: pytest.FixtureRequest) -> dict[str, Path]:
    """The wheels of old versions, downloaded once and kept where pytest keeps things between runs."""
    folder = request.config.cache.mkdir("sglang-wheels")
    found = {version: list(folder.glob(f"sglang-{version}-*.whl")) for version in OLD}
    for version, wheels in found.items():
        if not wheels:
            command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", f"sglang=={version}"]
            subprocess.run([*command, "-d", str(folder)], check=True)
    return {version: next(folder.glob(f"sglang-{version}-*.whl")) for version in OLD}


def said_by(python: Path | None, *words: str, env: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    done = subprocess.run(
        [str(python), str(SCRIPT), *words], capture_output=True, text=True, check=False, env={**env}, timeout=240
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, dict[str, Any]] = json.loads(done.stdout[done.stdout.index("{") :])
    return found


def bare() -> dict[str, str]:
    return {"HOME": os.environ["HOME"], "PATH": os.environ["PATH"]}


def as_json(value: Value) -> Any:
    if isinstance(value, tuple):
        return [as_json(item) for item in value]
    if isinstance(value, Mapping):
        return {key: as_json(item) for key, item in value.items()}
    return value


def flags_differ(knobs: EngineKnobs, real: Mapping[str, dict[str, Any]]) -> dict[str, object]:
    """What the harvest says otherwise than the parser itself, expressions left as such excepted."""
    by_first = {flag.options[0]: flag for flag in knobs.flags.values()}
    differences: dict[str, object] = {}
    for name in {*by_first, *real}:
        if name not in by_first or name not in real:
            differences[name] = "only one has it"
            continue
        flag, action = by_first[name], real[name]
        pairs = {
            "options": ({f"--{o}" for o in flag.spellings} | set(flag.short), set(action["options"])),
            "dest": (flag.dest, action["dest"]),
            "default": (as_json(flag.default), action["default"]),
            "choices": (as_json(flag.choices), action["choices"]),
            "nargs": (flag.nargs, action["nargs"]),
            "const": (as_json(flag.const), action["const"]),
            "required": (flag.required, action["required"]),
            "help": (flag.help, action["help"]),
            "type": (flag.type.rpartition(".")[2], action["type"] or ("bool" if flag.nargs == 0 else "str")),
        }
        if name == "help":
            del pairs["default"], pairs["help"]  # argparse's own wording, in the language of the machine
        if isinstance(flag.choices, tuple) and isinstance(action["choices"], list):
            pairs["choices"] = (sorted(as_json(flag.choices), key=str), sorted(action["choices"], key=str))
        wrong = {
            key: pair for key, pair in pairs.items() if pair[0] != pair[1] and not isinstance(pair[0], Unevaluated)
        }
        if wrong:
            differences[name] = wrong
    return differences


def registry_differs(knobs: EngineKnobs, real: Mapping[str, dict[str, Any]]) -> dict[str, object]:
    declared = {name: knob for name, knob in knobs.env.items() if knob.declared is not None}
    differences: dict[str, object] = dict.fromkeys(declared.keys() ^ real.keys(), "only one has it")
    for name in declared.keys() & real.keys():
        knob, field = declared[name], real[name]
        pairs = {
            "default": (as_json(knob.default), field["default"]),
            "secret": (knob.secret, field["secret"]),
            "alias": (knob.aliases if field["deprecated_name"] else (), (field["deprecated_name"],)),
        }
        if field["deprecated_name"] is None:
            del pairs["alias"]
        wrong = {
            key: pair for key, pair in pairs.items() if pair[0] != pair[1] and not isinstance(pair[0], Unevaluated)
        }
        if wrong:
            differences[name] = wrong
    return differences


def test_the_flags_are_those_of_the_engines_own_parser(engine: EngineFacts, knobs: EngineKnobs) -> None:
    env = bare() | {name: value for name, (value, _) in CPU_ENGINE_ENV.items()}
    real = said_by(engine.python, "flags", "sglang.srt.server_args", "ServerArgs", env=env)
    assert flags_differ(knobs, real) == {}
    assert (len(real), sum(len(action["options"]) for action in real.values())) == (532, 561)
    assert [flag.name for flag in knobs.flags.values() if isinstance(flag.default, Unevaluated)] == []
    assert [flag.name for flag in knobs.flags.values() if isinstance(flag.choices, Unevaluated)] == []


def test_the_router_flags_are_those_of_its_own_parser(engine: EngineFacts) -> None:
    knobs = harvest_router(engine.package.parent)
    real = said_by(engine.python, "flags", "sglang_router.router_args", "RouterArgs", env=bare())
    assert flags_differ(knobs, real) == {}
    assert len(real) == 99
    assert [flag.name for flag in knobs.flags.values() if isinstance(flag.choices, Unevaluated)] == ["tool-call-parser"]


def test_the_registry_is_the_one_that_the_engine_executes(engine: EngineFacts, knobs: EngineKnobs) -> None:
    environ = engine.package / "srt" / "environ.py"
    real = said_by(Path(sys.executable), "registry", str(environ), env=bare())
    assert registry_differs(knobs, real) == {}
    assert len(real) == 770
    left = [name for name, knob in knobs.env.items() if knob.declared and isinstance(knob.default, Unevaluated)]
    assert len(left) == 10  # below a home directory, or on whether torch was built for ROCm


def test_names_that_the_registry_declares_and_nothing_reads(knobs: EngineKnobs) -> None:
    remarks = {(name, remark.code) for name, knob in knobs.env.items() for remark in knob.remarks}
    assert {
        ("SGLANG_DATA_PARALLEL_BUDGET_INTERVAL", "unread"),
        ("SGLANG_NGRAM_FORCE_GREEDY_VERIFY", "unread"),
    } <= remarks
    assert ("SGLANG_MAX_BATCH_REQS_PER_HTTP_REQ", "compiled") in remarks  # by the server written in Rust
    assert "SGL_MM_RS_THREADS" in knobs.compiled
    assert {("SGLANG_FORCE_SHUTDOWN", "read-as"), ("SGLANG_SYNC_TOKEN_IDS_ACROSS_TP", "read-as")} <= remarks
    assert ("CUDA_DEVICE_MAX_CONNECTIONS", "overwritten") in remarks
    assert knobs.env["SGLANG_HEALTH_CHECK_TIMEOUT"].default == 20
    assert knobs.legacy_prefixes == {"SGL_": "SGLANG_"}
    assert "SGLANG_SM120_TRITON_FLASHMLA" in knobs.mentions


def test_variables_that_only_compiled_code_reads(knobs: EngineKnobs) -> None:
    native = {name for name, knob in knobs.env.items() for read in knob.reads if read.via == "getenv"}
    guards = {f"SGLANG_DEBUG_C128_ONLINE_{name}" for name in ("GUARD", "SYNC_H2D", "NO_H2D")}
    fused = {f"SGLANG_OPT_FUSED_MOE_ACTIVATION_{name}" for name in ("QUANT_FUSE", "VEC")}
    assert native == {"SGLANG_JIT_LOG_LEVEL", *guards, *fused}


@pytest.mark.parametrize("version", OLD)
def test_an_old_version(version: str, wheels: Mapping[str, Path]) -> None:
    knobs = harvest(wheels[version])
    assert knobs.version == version
    assert (len(knobs.flags), sum(knob.declared is not None for knob in knobs.env.values())) == OLD[version]
    assert knobs.flags["tp-size"].options == ("tensor-parallel-size", "tp-size")
    assert [flag.name for flag in knobs.flags.values() if isinstance(flag.default, Unevaluated)] == []
    with unpacked(wheels[version]) as folder:
        environ = folder / "sglang" / "srt" / "environ.py"
        assert registry_differs(knobs, said_by(Path(sys.executable), "registry", str(environ), env=bare())) == {}


def test_an_upgrade_splits_a_flag(wheels: Mapping[str, Path], knobs: EngineKnobs) -> None:
    changes = {change.name: change for change in flag_changes(harvest(wheels["0.5.12"]), knobs)}
    assert changes["cuda-graph-max-bs"].kind == "split"
    assert changes["nsa-decode-backend"].new_name == "dsa-decode-backend"
    assert changes["prefill-round-robin-balance"].kind == "removed"


SLIPS: Mapping[str, Callable[[str, int], str]] = {
    "a letter lost": lambda name, at: name[:at] + name[at + 1 :],
    "two swapped": lambda name, at: name[:at] + name[at + 1] + name[at] + name[at + 2 :],
    "another case": lambda name, _: name.swapcase(),
    "another prefix": lambda name, _: "VLLM_" + name.partition("_")[2],
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_a_name_is_caught_and_put_right(slip: str, knobs: EngineKnobs) -> None:
    chance = random.Random(slip)
    names = chance.sample([name for name, knob in sorted(knobs.env.items()) if knob.declared], 300)
    written = {name: SLIPS[slip](name, chance.randrange(len(name) - 1)) for name in names}
    wrong = {name: text for name, text in written.items() if text not in knobs.env}
    found = {name: find_env(knobs, text) for name, text in wrong.items()}
    first = [name for name, said in found.items() if isinstance(said, Unknown) and said.nearest[:1] == (name,)]
    assert len(wrong) > 280
    assert len(first) / len(wrong) >= 0.95


def test_what_is_passed_over_holds_nothing(engine: EngineFacts, wheels: Mapping[str, Path]) -> None:
    """Files and function bodies are skipped by what words they hold; the sweep that skips nothing finds the same."""
    with unpacked(wheels["0.5.6"]) as folder:
        for root in (folder / "sglang", engine.package):
            files = Listing(root).files
            quick, slow = (joined(sweep(root, "sglang", files, everything=every)) for every in (False, True))
            assert quick == slow
            assert len(quick.reads) > 200
