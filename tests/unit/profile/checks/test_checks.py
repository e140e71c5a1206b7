from __future__ import annotations

from pathlib import Path

import pytest

from launcher.errors import Problem
from launcher.profile import examine

HEAD = """\
name: x
model: /m
engine: {venv: /v}
prefill: {gpus: 0-3}
decode: {gpus: 4-7}
router: {port: 8000}
"""


def found(tmp_path: Path, text: str) -> tuple[Problem, ...]:
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    return examine(path).problems


def only(tmp_path: Path, text: str) -> Problem:
    (problem,) = found(tmp_path, text)
    return problem


def prefill(text: str) -> str:
    return HEAD.replace("prefill: {gpus: 0-3}", f"prefill: {text}")


def decode(text: str) -> str:
    return HEAD.replace("decode: {gpus: 4-7}", f"decode: {text}")


def engine(text: str) -> str:
    return HEAD.replace("engine: {venv: /v}", f"engine: {{venv: /v, {text}}}")


class TestParts:
    @pytest.mark.parametrize("kind", ["cpu", "simulator"])
    def test_cpu_and_simulator_need_no_environment_model_or_cards(self, tmp_path: Path, kind: str) -> None:
        text = f"name: x\nengine: {{kind: {kind}}}\nprefill: {{}}\ndecode: {{}}\nrouter: {{port: 8000}}\n"
        assert found(tmp_path, text) == ()

    def test_the_simulator_has_no_environment(self, tmp_path: Path) -> None:
        problem = only(tmp_path, HEAD.replace("{venv: /v}", "{kind: simulator, venv: /v}"))
        assert problem.subject == "engine.venv = /v"

    def test_one_aggregated_role_needs_no_router(self, tmp_path: Path) -> None:
        text = "name: x\nmodel: /m\nengine: {venv: /v}\naggregated: {gpus: 0-7}\n"
        assert found(tmp_path, text) == ()

    @pytest.mark.parametrize(
        ("text", "subject", "says"),
        [
            (HEAD + "aggregated: {gpus: 8}\n", "aggregated", "beside prefill or decode"),
            (HEAD.replace("decode: {gpus: 4-7}\n", ""), "decode", "prefill stands alone"),
            (HEAD.replace("prefill: {gpus: 0-3}\n", ""), "prefill", "decode stands alone"),
            (HEAD.replace("router: {port: 8000}\n", ""), "router", "need a router"),
            (HEAD.replace("engine: {venv: /v}\n", ""), "engine.venv", "not named"),
            (HEAD.replace("model: /m\n", ""), "model", "not named"),
            (decode("{gpus: 4, bootstrap_port: 31000}"), "decode.bootstrap_port = 31000", "only a prefill"),
            (decode("{replicas: []}"), "decode.replicas = []", "empty list"),
            (HEAD + "stop: {drain: 90s, kill: 60s}\n", "stop.kill = 60s", "after 60 s"),
            (HEAD + "ready: {within: 0s}\n", "ready.within = 0s", "no time"),
        ],
    )
    def test_that_do_not_belong_together(self, tmp_path: Path, text: str, subject: str, says: str) -> None:
        matching = [p for p in found(tmp_path, text) if p.subject == subject]
        assert len(matching) == 1
        assert says in matching[0].error

    def test_what_belongs_to_a_replica_stands_there(self, tmp_path: Path) -> None:
        problem = only(tmp_path, decode("{port: 31000, replicas: [{gpus: 4-5}, {gpus: 6-7}]}"))
        assert problem.error == "decode has replicas: `port` stands under each of them"


class TestCards:
    def test_missing(self, tmp_path: Path) -> None:
        assert only(tmp_path, decode("{tp: 1}")).error == "decode-0 has no GPUs"

    def test_shared_between_roles_and_replicas(self, tmp_path: Path) -> None:
        problem = only(tmp_path, decode("{gpus: 2-5}"))
        assert problem.error == "prefill-0 has GPU 2, 3 as well, line 4"
        problem = only(tmp_path, decode("{replicas: [{gpus: 4-5}, {gpus: 5-6}]}"))
        assert problem.subject == "decode.replicas[1].gpus = 5-6"
        assert problem.error == "decode-0 has GPU 5 as well, line 5"

    @pytest.mark.parametrize(
        ("role", "says", "write"),
        [
            ("{gpus: 4-5, tp: 4}", "tp 4 needs 4 GPUs, decode-0 has 2", "tp: 2"),
            ("{gpus: 4-7, dp: 2}", "tp 4 x dp 2 needs 8 GPUs, decode-0 has 4; `attn-dp-size: 2` under args", "tp: 2"),
            ("{gpus: 4-7, args: {pp-size: 2}}", "tp 4 x pp 2 needs 8 GPUs", "tp: 2"),
            ("{gpus: 4-7, dp: 3, args: {enable-dp-attention: true}}", "3 does not divide 4", None),
            ("{gpus: 4-7, ep: 8}", "ep 8 is larger than tp 4", None),
        ],
    )
    def test_too_few_for_the_sizes(self, tmp_path: Path, role: str, says: str, write: str | None) -> None:
        problem = only(tmp_path, decode(role))
        assert problem.severity == "error"
        assert says in problem.error
        assert problem.write == write

    @pytest.mark.parametrize(
        "role",
        [
            "{gpus: 4-7, tp: 2, dp: 2}",
            "{gpus: 4-7, dp: 4, ep: 4, args: {enable-dp-attention: true}}",
            "{gpus: 4-7, tp: 2, args: {pp-size: 2}}",
            "{gpus: '4,6', tp: 2}",
            "{tp: 2, replicas: [{gpus: 4-5}, {gpus: 6-7}]}",
        ],
    )
    def test_enough_for_the_sizes(self, tmp_path: Path, role: str) -> None:
        assert found(tmp_path, decode(role)) == ()

    def test_left_idle_is_a_warning(self, tmp_path: Path) -> None:
        problem = only(tmp_path, decode("{gpus: 4-7, tp: 2}"))
        assert (problem.severity, problem.error) == ("warning", "tp 2 uses 2 of the 4 GPUs of decode-0")


class TestPorts:
    def test_that_collide_name_the_other_line(self, tmp_path: Path) -> None:
        problem = only(tmp_path, prefill("{gpus: 0-3, port: 31000, bootstrap_port: 31000}"))
        assert problem.error == "31000 is prefill.port as well, line 4"
        problem = only(tmp_path, decode("{gpus: 4-7, nccl_port: 8000}"))
        assert problem.error == "8000 is router.port as well, line 6"

    @pytest.mark.parametrize(
        ("port", "says"), [(32768, "outgoing"), (60999, "outgoing"), (22000, "random"), (29999, "random")]
    )
    def test_that_others_draw_from_are_warned_of(self, tmp_path: Path, port: int, says: str) -> None:
        problem = only(tmp_path, HEAD.replace("8000", str(port)))
        assert problem.severity == "warning"
        assert says in problem.error

    @pytest.mark.parametrize("port", [21999, 30000, 32767, 61000])
    def test_beside_those_ranges_are_fine(self, tmp_path: Path, port: int) -> None:
        assert found(tmp_path, HEAD.replace("8000", str(port))) == ()


class TestFlags:
    @pytest.mark.parametrize(
        ("text", "says", "write"),
        [
            (decode("{gpus: 4-7, args: {tp-size: 4}}"), "a key under decode", "tp: 4"),
            (engine("args: {tp: 4}"), "a key under prefill and decode", "tp: 4"),
            (engine("args: {tensor-parallel-size: 4}"), "a key under prefill and decode", "tp: 4"),
            (engine("args: {data_parallel_size: 4}"), "a key under prefill and decode", "dp: 4"),
            (decode("{gpus: 4-7, args: {ep: 4}}"), "a key under decode", "ep: 4"),
            (
                prefill("{gpus: 0-3, args: {disaggregation-bootstrap-port: 8998}}"),
                "under prefill",
                "bootstrap_port: 8998",
            ),
            (decode("{gpus: 4-7, args: {base-gpu-id: 4}}"), "a key under decode", "gpus: 0-3"),
            (engine("args: {--model-path: /x}"), "a key of the profile", "model: /x"),
            (engine("args: {served-model-name: w}"), "a key of the profile", "model: {path: ..., name: w}"),
            (engine("args: {host: 0.0.0.0}"), "a key of the profile", "engine: {host: 0.0.0.0}"),
            (engine("args: {disaggregation-transfer-backend: nixl}"), "a key of the profile", "transfer: nixl"),
            (engine("args: {disaggregation-mode: decode}"), "the role decides it", "nothing, delete the line"),
            (engine("args: {config: /x}"), "would hide", "nothing, delete the line"),
            (HEAD.replace("8000}", "8000, args: {port: 9}}"), "a key of the router", "port: 9"),
            (HEAD.replace("8000}", "8000, args: {prometheus-port: 9}}"), "metrics_port", "nothing, delete the line"),
            (
                HEAD.replace("8000}", "8000, args: {worker-urls: x}}"),
                "follows from the roles",
                "nothing, delete the line",
            ),
        ],
    )
    def test_that_pdlaunch_owns(self, tmp_path: Path, text: str, says: str, write: str) -> None:
        problem = only(tmp_path, text)
        assert says in problem.error
        assert problem.write == write

    @pytest.mark.parametrize(
        ("name", "write"),
        [
            ("--context-length", "context-length: 4096"),
            ("context_length", "context-length: 4096"),
            ("'context-length=1024'", "context-length: 1024"),
            ("--context_length=1024", "context-length: 1024"),
        ],
    )
    def test_that_are_spelled_otherwise(self, tmp_path: Path, name: str, write: str) -> None:
        assert only(tmp_path, engine(f"args: {{{name}: 4096}}")).write == write

    @pytest.mark.parametrize(
        "text",
        [
            engine("args: {api-key: sk-1}"),
            engine("args: {admin_api_key: sk-1}"),
            HEAD.replace("8000}", "8000, args: {api-key: sk-1}}"),
        ],
    )
    def test_that_are_secrets_are_refused_with_the_reason(self, tmp_path: Path, text: str) -> None:
        problem = only(tmp_path, text)
        assert "exists only as a flag" in problem.error
        assert "sk-1" not in str(problem)

    def test_that_are_secrets_can_be_allowed_by_name(self, tmp_path: Path) -> None:
        allow = "allow: [{what: engine.args.api-key, why: lab, by: anna, until: 2027-01-01}]\n"
        assert found(tmp_path, engine("args: {api-key: sk-1}") + allow) == ()


class TestVariables:
    @pytest.mark.parametrize(
        ("name", "write"),
        [
            ("CUDA_VISIBLE_DEVICES", "gpus: 0-3"),
            ("PYTHONPATH", "engine: {source: /opt/sglang-fork}"),
            ("SGLANG_HOST_IP", "engine: {host: 127.0.0.1}"),
            ("SPT_NOENV", "nothing, delete the line"),
            ("PDLAUNCH_SERVICE", "nothing, delete the line"),
            ("PDLAUNCH_SIM_FAULT", "nothing, delete the line"),
        ],
    )
    @pytest.mark.parametrize("value", ["1", "~"])
    def test_that_pdlaunch_owns(self, tmp_path: Path, name: str, write: str, value: str) -> None:
        assert only(tmp_path, engine(f"env: {{{name}: {value}}}")).write == write

    def test_of_the_simulator_are_its_own(self, tmp_path: Path) -> None:
        text = HEAD.replace("{venv: /v}", "{kind: simulator, env: {PDLAUNCH_SIM_FAULT: 'hang:decode:48k'}}")
        assert found(tmp_path, text) == ()

    @pytest.mark.parametrize("name", ["1A", "A-B", "A=B", "Ä", '"A B"', '""'])
    def test_with_impossible_names(self, tmp_path: Path, name: str) -> None:
        assert only(tmp_path, engine(f"env: {{{name}: 1}}")).error == "no name of an environment variable"

    @pytest.mark.parametrize(
        "text",
        [
            engine("env: {X: 1}, secrets: {X: /x}"),
            engine("env: {X: 1}").replace("4-7}", "4-7, secrets: {X: /x}}"),
            engine("secrets: {X: /x}").replace("4-7}", "4-7, env: {X: 1}}"),
        ],
    )
    def test_that_are_secrets_as_well(self, tmp_path: Path, text: str) -> None:
        assert "plain variable too" in only(tmp_path, text).error

    @pytest.mark.parametrize(
        "text",
        [
            engine("secrets: {X: /x}").replace("8000}", "8000, env: {X: 1}}"),
            prefill("{gpus: 0-3, secrets: {X: /x}}").replace("4-7}", "4-7, env: {X: 1}}"),
            engine("env: {X: ~}").replace("4-7}", "4-7, secrets: {X: /x}}"),
        ],
    )
    def test_that_never_meet_a_secret_of_their_name(self, tmp_path: Path, text: str) -> None:
        assert found(tmp_path, text) == ()
