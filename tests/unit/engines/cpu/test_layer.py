from __future__ import annotations

import importlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from launcher.engines.cpu.build import _put_layer
from launcher.engines.cpu.layer import activate, events, nixl, stand_ins
from launcher.engines.cpu.layer.hooks import after_import
from launcher.engines.cpu.layer.stand_ins import PACKAGES, StandIn
from tests.unit.engines.trees import package


@pytest.fixture(autouse=True)
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give the interpreter's import machinery back as it was."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(importlib.util, "find_spec", importlib.util.find_spec)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if not name.startswith("launcher."):
            del sys.modules[name]


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A package folder with the layer in it, as the engine's environment has it."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    _put_layer(folder, lambda _: None)
    return folder


def in_new_python(packages: Path, code: str, **environ: str) -> Any:
    """Run code that sets `answer` in an interpreter that starts with this package folder, as a venv does: twice."""
    start = f"import json, site, sys; [site.addsitedir({str(packages)!r}) for _ in range(2)]\n"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"{start}{code}\nprint(json.dumps(answer))"],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


STATE = """
answer = {
    "finders": [type(finder).__module__ for finder in sys.meta_path if "layer" in type(finder).__module__],
    "layer": sorted(name for name in sys.modules if "layer" in name),
    "probe": "importlib.util" in sys.modules and sys.modules["importlib.util"].find_spec.__module__,
}
"""


@pytest.mark.parametrize("value", [None, "0", "", "true"])
def test_without_the_variable_it_does_nothing_at_all(packages: Path, value: str | None) -> None:
    environ = {} if value is None else {"SGLANG_USE_CPU_ENGINE": value}
    state = in_new_python(packages, STATE, **environ)
    assert state["finders"] == state["layer"] == []
    assert state["probe"] in (False, "importlib.util")
    missing = "try:\n    import triton; answer = 'there'\nexcept ModuleNotFoundError: answer = 'missing'"
    assert in_new_python(packages, missing, **environ) == "missing"


def test_with_the_variable_it_is_in_once(packages: Path) -> None:
    state = in_new_python(packages, STATE, SGLANG_USE_CPU_ENGINE="1")
    assert state["finders"] == ["pdlaunch_cpu_layer.hooks"] * 3 + ["pdlaunch_cpu_layer.stand_ins"]
    assert (
        in_new_python(packages, "import triton; answer = type(triton).__name__", SGLANG_USE_CPU_ENGINE="1") == "StandIn"
    )


def test_it_asks_the_variable_itself_too(monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(sys.meta_path)
    monkeypatch.delenv("SGLANG_USE_CPU_ENGINE", raising=False)
    assert activate() is False
    assert sys.meta_path == before


def test_a_real_package_wins(packages: Path) -> None:
    package(packages / "torchvision", {"__init__.py": "__version__ = '1'"})
    code = (
        "import torchvision, triton, importlib.util\n"
        "answer = [torchvision.__version__, type(triton).__name__, importlib.util.find_spec('torchvision') is not None]"
    )
    assert in_new_python(packages, code, SGLANG_USE_CPU_ENGINE="1") == ["1", "StandIn", True]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_stood_in_package_imports_and_is_absent_for_whoever_asks(name: str) -> None:
    stand_ins.install()
    assert importlib.util.find_spec(name) is None
    module = importlib.import_module(f"{name}.deep.inside")
    assert isinstance(module, StandIn)
    assert importlib.util.find_spec(name) is None
    assert importlib.util.find_spec("json") is not None
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_package_of_that_name")


def test_what_sglang_does_with_triton_while_it_is_imported() -> None:
    stand_ins.install()
    triton, tl = importlib.import_module("triton"), importlib.import_module("triton.language")

    def kernel() -> None: ...

    assert triton.jit(kernel) is kernel
    assert triton.jit(do_not_specialize=["n"])(kernel) is kernel
    assert triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=8)], key=[])(kernel) is kernel
    assert triton.Config({"BLOCK": 64}, num_warps=8, maxnreg=128).num_warps == 8
    assert (triton.cdiv(7, 2), triton.next_power_of_2(5), triton.next_power_of_2(0)) == (4, 8, 1)
    assert tl.constexpr(3).value == 3
    assert isinstance(tl.float32, StandIn)
    assert importlib.import_module("triton.language.extra") is tl.extra


def test_a_stand_in_is_empty_and_its_classes_can_be_derived_from() -> None:
    module = StandIn("sgl_kernel")
    assert not module
    assert list(module) == []
    assert "x" not in module
    assert len(module) == 0

    scalar: Any = module.ScalarType
    derived = type("Derived", (scalar,), {}, option=1)
    assert isinstance(derived(1, two=2), scalar)
    assert scalar.uint4 == "ScalarType.uint4"
    assert not hasattr(scalar, "__wrapped__")
    assert not hasattr(module, "__wrapped__")


def test_a_hook_runs_after_the_module_and_for_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package(tmp_path / "watched", {"__init__.py": "value = 1", "inner.py": "value = 2"})
    monkeypatch.syspath_prepend(tmp_path)
    seen: list[tuple[str, int]] = []
    after_import("watched.inner", lambda module: seen.append((module.__name__, module.value)))
    after_import("watched.not_there", lambda module: seen.append((module.__name__, 0)))

    importlib.import_module("watched")
    assert seen == []
    importlib.import_module("watched.inner")
    assert seen == [("watched.inner", 2)]
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("watched.not_there")


@pytest.mark.parametrize("cuda", [12, 13])
def test_gpu_memory_is_host_memory_for_every_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cuda: int) -> None:
    api = """
class nixl_agent:
    def __init__(self, name, settings=None):
        self.name, self.settings = name, settings
        self.nixl_mems = {"DRAM": 0, "VRAM": 1, "FILE": 2, "cpu": 0, "cuda": 1}
"""
    package(tmp_path / f"nixl_cu{cuda}", {"_api.py": api})
    monkeypatch.syspath_prepend(tmp_path)
    nixl.install()

    agent = importlib.import_module(f"nixl_cu{cuda}._api").nixl_agent("prefill", settings="UCX")

    assert (agent.name, agent.settings) == ("prefill", "UCX")
    assert agent.nixl_mems == {"DRAM": 0, "VRAM": 0, "FILE": 2, "cpu": 0, "cuda": 0}


@pytest.mark.parametrize("has_gpu", [True, False])
def test_only_a_torch_without_gpu_gets_the_event(has_gpu: bool) -> None:
    real = object()
    cuda = SimpleNamespace(is_available=lambda: has_gpu, Event=real)
    prefill = ModuleType("prefill")
    vars(prefill)["torch"] = SimpleNamespace(cuda=cuda)

    events.replace_events(prefill)

    assert cuda.Event is (real if has_gpu else events.CompletedEvent)


def test_an_event_on_a_cpu_has_always_happened() -> None:
    start, end = events.CompletedEvent(enable_timing=True), events.CompletedEvent()
    start.record()
    start.wait(object())
    start.synchronize()
    assert start.query()
    assert start.elapsed_time(end) == 0.0


def test_the_readme_names_every_package_and_file() -> None:
    folder = Path(stand_ins.__file__).parent
    text = (folder / "README.md").read_text()
    assert [name for name in PACKAGES if f"`{name}`" not in text and f"import {name}`" not in text] == []
    files = {path.name for path in folder.glob("*.py")} - {"__init__.py"}
    assert {name for name in files if f"`{name}`" in text} == files
