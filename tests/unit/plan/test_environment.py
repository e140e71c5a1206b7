"""A service's environment: an exact list, nothing inherited, each value with its origin."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher.engines import CPU_ENGINE_ENV
from launcher.plan import DIGEST, Facts
from launcher.plan.caches import VARIABLES, cache_key
from launcher.plan.environment import spell

from .making import ENGINE, FACTS, MACHINE, PRO_6000, SIX, env, flags, planned, service

BASE = {
    "HOME": "/var/lib/sglang",
    "USER": "sglang",
    "LANG": "C.UTF-8",
    "PATH": "/opt/sglang/venv/bin:/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin",
    "TMPDIR": "/tmp",
    "PYTHONNOUSERSITE": "1",
    "PYTHONSAFEPATH": "1",
    "PYTHONUNBUFFERED": "1",
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    "SPT_NOENV": "1",
}
KEY = cache_key(ENGINE, MACHINE)
CACHES = {
    "XDG_CACHE_HOME": "xdg",
    "SGLANG_CACHE_DIR": "sglang",
    "SGLANG_JIT_CACHE_DIR": "sglang/jit",
    "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TORCH_EXTENSIONS_DIR": "torch-extensions",
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
    "TILELANG_CACHE_DIR": "tilelang",
    "CUDA_CACHE_PATH": "cuda",
}


def test_an_engine_server_gets_exactly_this(tmp_path: Path) -> None:
    decode = service(planned(tmp_path, SIX), "decode-0")
    assert env(decode) == {
        **BASE,
        "PDLAUNCH_SERVICE": "state:decode-0",
        "PYTHONPATH": "state:engine/41ab9d07",
        **{name: f"cache:{KEY}/{folder}" for name, folder in CACHES.items()},
        "SGLANG_EXPOSE_OWN_ENV_VARS": "1",
        "SGLANG_HOST_IP": "127.0.0.1",
        DIGEST: decode.digest(),
    }


def test_the_router_gets_the_base_alone(tmp_path: Path) -> None:
    router = service(planned(tmp_path, SIX), "router")
    assert env(router) == {**BASE, "PDLAUNCH_SERVICE": "state:router", DIGEST: router.digest()}


def test_origins(tmp_path: Path) -> None:
    text = SIX.replace("engine: {", "engine: {source: /opt/fork, user: anna, env: {A: 1, LANG: C}, ")
    found = {v.name: str(v.origin) for v in service(planned(tmp_path, text), "decode-0").env}
    assert {name: found[name] for name in (*BASE, *CACHES)} == {
        **dict.fromkeys((*BASE, *CACHES), "base"),
        "USER": "six.yaml:3",
        "LANG": "six.yaml:3",
    }
    assert (found["PDLAUNCH_SERVICE"], found[DIGEST], found["A"]) == ("pdlaunch", "pdlaunch", "six.yaml:3")
    assert found["PYTHONPATH"] == "six.yaml:3  engine.source, as it was at `up`"
    plain = {v.name: str(v.origin) for v in service(planned(tmp_path, SIX), "decode-0").env}
    assert plain["PYTHONPATH"] == "pdlaunch  the engine, as it was at `up`"


def test_nothing_of_the_caller_enters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = planned(tmp_path, SIX)
    for name in ("LANG", "PATH", "NCCL_DEBUG", "UCX_TLS", "LD_LIBRARY_PATH", "HTTP_PROXY"):
        monkeypatch.setenv(name, "polluted")
    assert planned(tmp_path, SIX) == before


def test_a_profile_s_value_takes_the_place_of_the_base_s(tmp_path: Path) -> None:
    text = SIX.replace("engine: {", "engine: {env: {PATH: /only, TMPDIR: ~}, ")
    decode = service(planned(tmp_path, text), "decode-0")
    assert env(decode)["PATH"] == "/only"
    assert "TMPDIR" not in env(decode)
    assert len(env(decode)) == len(decode.env)


def test_the_cpu_engine_adds_what_it_needs_with_the_reason_and_a_profile_s_word_wins(tmp_path: Path) -> None:
    text = "name: c\nengine: {kind: cpu, env: {OMP_NUM_THREADS: 2}, args: {context-length: 512}}\naggregated: {}\n"
    facts = FACTS.model_copy(update={"model_path": "/engines/cpu/model"})
    found = service(planned(tmp_path, text, facts), "aggregated-0")
    assert env(found).items() >= {"SGLANG_USE_CPU_ENGINE": "1", "OMP_NUM_THREADS": "2"}.items()
    reason = {v.name: v.origin.note for v in found.env if v.origin.kind == "engine"}
    assert reason == {name: why for name, (_, why) in CPU_ENGINE_ENV.items() if name != "OMP_NUM_THREADS"}
    assert flags(found).items() >= {"--device": "cpu", "--context-length": "512"}.items()
    assert flags(found)["--model-path"] == "/engines/cpu/model"


@pytest.mark.parametrize(("value", "text"), [(True, "1"), (False, "0"), ("true", "true"), ("", ""), ("007", "007")])
def test_spelling(value: bool | str, text: str) -> None:
    assert spell(value) == text


class TestCaches:
    def test_the_key_names_engine_version_and_card(self) -> None:
        assert KEY.startswith("sglang-0.5.23-rtx-pro-6000-blackwell-")
        assert cache_key(ENGINE, MACHINE.model_copy(update={"gpus": None})).startswith("sglang-0.5.23-cpu-")
        assert cache_key(None, MACHINE) == "unknown"
        assert VARIABLES == CACHES

    @pytest.mark.parametrize(
        "facts",
        [
            FACTS.model_copy(update={"engine": ENGINE.model_copy(update={"cuda": "12.9"})}),
            FACTS.model_copy(update={"machine": MACHINE.model_copy(update={"driver": "580.1"})}),
            FACTS.model_copy(update={"machine": MACHINE.model_copy(update={"gpus": ("NVIDIA H200",) * 8})}),
            FACTS.model_copy(
                update={"engine": ENGINE.model_copy(update={"distributions": {"sglang": "0.5.23", "torch": "2.12"}})}
            ),
        ],
    )
    def test_what_compiles_decides_the_key(self, facts: Facts) -> None:
        assert cache_key(facts.engine, facts.machine) != KEY

    def test_what_does_not_compile_is_not_in_it(self) -> None:
        newer = ENGINE.model_copy(update={"distributions": {**ENGINE.distributions, "requests": "3"}})
        four = MACHINE.model_copy(update={"gpus": (PRO_6000,) * 4, "home": "/root", "user": "root", "python": "/x"})
        turned = ENGINE.model_copy(update={"distributions": dict(sorted(ENGINE.distributions.items(), reverse=True))})
        assert {cache_key(engine, four) for engine in (newer, turned)} == {KEY}

    @pytest.mark.parametrize(
        ("line", "edited"),
        [("name: six", "name: other"), ("gpus: 0-3", "gpus: 0-1, args: {log-level: info}"), ("port: 8000", "port: 9")],
    )
    def test_never_by_the_profile(self, tmp_path: Path, line: str, edited: str) -> None:
        """A change of any setting must not cost a recompile: the key is made of the facts alone."""
        found = env(service(planned(tmp_path, SIX.replace(line, edited)), "prefill-0"))
        assert {name: found[name] for name in CACHES} == {name: f"cache:{KEY}/{CACHES[name]}" for name in CACHES}
