"""The CPU engine as `install` makes it: cached where this machine has it, else installed here."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.engines import CPU_ENGINE_ENV, CpuEngine, describe, install_cpu, installed_cpu
from launcher.engines.cpu import pins

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

BASE = {"PATH": "/usr/bin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8"}
ON = {name: value for name, (value, _) in CPU_ENGINE_ENV.items()}


def _silent(_step: str, _detail: str) -> None:
    """An installation that works needs no words."""


@pytest.fixture
def engine(installed_engines: Path) -> CpuEngine:
    return install_cpu(installed_engines, progress=_silent, wait=True)


def run(engine: CpuEngine, code: str, **environ: str) -> str:
    """What this code prints in the engine's Python."""
    command = [str(engine.python), "-c", code]
    return subprocess.run(
        command, env=BASE | environ, capture_output=True, text=True, check=True, cwd="/"
    ).stdout.strip()


def test_it_was_verified_and_is_found_without_doing_it_again(engine: CpuEngine, installed_engines: Path) -> None:
    assert engine.checks.keys() == {"versions", "layer", "transfer", "model", "arguments", "router"}
    assert "equal" in engine.checks["transfer"]
    assert "attention torch_native" in engine.checks["arguments"]
    assert installed_cpu() == engine

    def never(step: str, detail: str) -> None:
        raise AssertionError(f"{step} was done again: {detail}")

    assert install_cpu(installed_engines, progress=never) == engine


def test_it_is_what_the_pins_say(engine: CpuEngine) -> None:
    facts = describe(engine.venv)
    assert (facts.kind, facts.version, facts.torch, facts.cuda) == ("cpu", "0.5.23", "2.13.0+cpu", None)
    assert (facts.nixl, facts.router) == ("1.5.1", "0.3.2")
    tools = {"pip", "setuptools", "wheel"}
    found = {name: version for name, version in facts.distributions.items() if name not in tools}
    assert found == pins.versions(pins.groups(pins.FILE.read_text()))
    assert engine.versions["python"] == facts.python_version == run(engine, "import sys; print(sys.version.split()[0])")


def test_the_layer_is_off_without_the_variable(engine: CpuEngine) -> None:
    finders = "import sys; print([f for f in sys.meta_path if 'pdlaunch' in type(f).__module__])"
    assert run(engine, finders) == "[]"
    assert run(engine, "import sys; print([m for m in sys.modules if 'pdlaunch' in m])") == "[]"
    absent = "try:\n    import triton\nexcept ModuleNotFoundError as error:\n    print(error.name)"
    assert run(engine, absent) == "triton"
    label = "from nixl._api import nixl_agent as a; print(a('a', None).nixl_mems['VRAM'].name)"
    assert run(engine, label).splitlines()[-1] == "VRAM_SEG"


def test_the_layer_is_on_with_it(engine: CpuEngine) -> None:
    assert run(engine, "import triton, importlib.util as u; print(u.find_spec('triton'))", **ON) == "None"
    label = "from nixl._api import nixl_agent as a; print(a('a', None).nixl_mems['VRAM'].name)"
    assert run(engine, label, **ON).splitlines()[-1] == "DRAM_SEG"


def test_sglang_s_command_answers(engine: CpuEngine) -> None:
    command = [str(engine.python), "-m", "sglang.launch_server", "--help"]
    done = subprocess.run(command, env=BASE | ON, capture_output=True, text=True, check=True, cwd="/")
    assert "--disaggregation-mode" in done.stdout


def test_the_model_s_answer_depends_on_the_whole_prompt_and_is_readable(engine: CpuEngine) -> None:
    code = f"""
import json, torch, transformers
tokenizer = transformers.AutoTokenizer.from_pretrained({str(engine.model)!r})
model = transformers.AutoModelForCausalLM.from_pretrained({str(engine.model)!r}, dtype=torch.float32)
def answer(prompt):
    tokens = tokenizer(prompt, return_tensors="pt").input_ids
    return tokenizer.decode(model.generate(tokens, max_new_tokens=32, do_sample=False)[0][tokens.shape[1]:])
print(json.dumps([answer(p) for p in ("a" + "x" * 200, "b" + "x" * 200, "a" + "x" * 200)]))
"""
    first, other, again = json.loads(run(engine, code, **ON).splitlines()[-1])
    assert first == again != other
    assert set(first + other) <= set(" abcdefghijklmnopqrstuvwxyz")
    assert len(first) == len(other) == 32


def test_the_router_starts(engine: CpuEngine, free_port: Callable[[], int], tmp_path: Path) -> None:
    port, metrics = free_port(), free_port()
    command = [str(engine.python), "-m", "sglang_router.launch_router", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--prometheus-host", "127.0.0.1", "--prometheus-port", str(metrics)]
    with (tmp_path / "log").open("w+") as log, subprocess.Popen(command, env=BASE, stdout=log, stderr=log) as router:
        try:
            assert _status(f"http://127.0.0.1:{port}/liveness", router) == 200, (tmp_path / "log").read_text()
        finally:
            router.kill()


def _status(url: str, process: subprocess.Popen[bytes]) -> int | None:
    """The first answer's status; None when the process ends before, or nothing answers for a minute."""
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return int(answer.status)
        except urllib.error.URLError:
            time.sleep(0.1)
    return None
