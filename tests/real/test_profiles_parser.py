"""The command lines of the shipped profiles, read by the parsers that will read them: SGLang's and the router's own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from launcher.engines import EngineFacts, describe
from launcher.engines.cpu import CPU_ENGINE_ENV
from launcher.knobs import harvest
from launcher.plan import Facts, MachineFacts, Plan, resolve
from launcher.profile import load
from launcher.rules import check_names, check_values
from launcher.shipped import shipped

from ..conftest import CPU_HOME

pytestmark = pytest.mark.real

NAMES = ("dsv4-flash", "dsv4-flash-aggregated", "cpu-tiny")
SCRIPT = Path(__file__).with_name("parse_commands.py")
MACHINE = MachineFacts(home="/root", user="root", python="/usr/bin/python3")


def engine() -> EngineFacts:
    """The CPU engine on this machine; this test is about what stands in it, so it cannot do without."""
    return describe(CPU_HOME / "venv")


def plan_of(name: str) -> Plan:
    facts = Facts(machine=MACHINE, model_path="/models/tiny")
    return resolve(load(shipped("profiles") / f"{name}.yaml"), facts)


def after_module(words: tuple[str, ...]) -> list[str]:
    """The words that the program's parser sees: what follows ``python -m MODULE``."""
    return list(words[words.index("-m") + 2 :])


@pytest.fixture(scope="module", name="parsed")
def _parsed() -> dict[tuple[str, str], dict[str, Any]]:
    """What the parsers made of each service of each profile; one process, since importing SGLang takes seconds."""
    services = [(name, service) for name in NAMES for service in plan_of(name).services]
    asked = [("router" if s.role == "router" else "engine", after_module(s.words())) for _, s in services]
    python = str(engine().python)
    env = {"HOME": os.environ["HOME"], "PATH": os.environ["PATH"]}
    env |= {name: value for name, (value, _) in CPU_ENGINE_ENV.items()}
    done = subprocess.run(
        [python, str(SCRIPT)], input=json.dumps(asked), capture_output=True, text=True, env=env, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(done.stdout)
    return {(name, service.name): result for (name, service), result in zip(services, results, strict=True)}


def test_every_command_line_is_accepted(parsed: dict[tuple[str, str], dict[str, Any]]) -> None:
    assert {key: result["refused"] for key, result in parsed.items() if "refused" in result} == {}
    assert len(parsed) == 8


@pytest.mark.parametrize(("role", "gpu"), [("prefill", 0), ("decode", 4)])
def test_a_role_of_dsv4_flash_means_what_the_profile_says(
    parsed: dict[tuple[str, str], dict[str, Any]], role: str, gpu: int
) -> None:
    args = parsed["dsv4-flash", f"{role}-0"]["parsed"]
    assert (args["disaggregation_mode"], args["disaggregation_transfer_backend"]) == (role, "nixl")
    assert (args["tp_size"], args["base_gpu_id"]) == (4, gpu)
    assert (args["context_length"], args["kv_cache_dtype"], args["mem_fraction_static"]) == (262144, "fp8_e4m3", 0.85)
    assert args["served_model_name"] == "dsv4-flash"
    assert args["disable_custom_all_reduce"] is True
    assert args["chunked_prefill_size"] == (4096 if role == "prefill" else None)
    assert args["max_running_requests"] == (32 if role == "decode" else None)


def test_the_aggregated_twin_takes_all_cards(parsed: dict[tuple[str, str], dict[str, Any]]) -> None:
    args = parsed["dsv4-flash-aggregated", "aggregated-0"]["parsed"]
    assert (args["disaggregation_mode"], args["tp_size"], args["base_gpu_id"]) == ("null", 8, 0)


def test_the_router_knows_both_halves(parsed: dict[tuple[str, str], dict[str, Any]]) -> None:
    args = parsed["dsv4-flash", "router"]["parsed"]
    assert args["pd_disaggregation"] is True
    assert len(args["prefill_urls"]) == len(args["decode_urls"]) == 1
    assert (args["policy"], args["request_timeout_secs"]) == ("round_robin", 3600)


@pytest.mark.parametrize("name", NAMES)
def test_every_name_and_value_is_what_this_engine_declares(name: str, tmp_path: Path) -> None:
    knobs = harvest(engine().package, cache_dir=tmp_path)
    loaded = load(shipped("profiles") / f"{name}.yaml")
    problems = [*check_names(loaded, knobs), *check_values(loaded, knobs)]
    assert [str(problem) for problem in problems if problem.severity == "error"] == []
