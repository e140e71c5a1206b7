"""The exact words of each command."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher.plan import resolve
from launcher.plan.commands import Worker, profile_flags, router_flags
from launcher.plan.model import Origin
from launcher.profile import ArgValue, Written, load

from .making import FACTS, SIX, planned, service

OWN = Origin(kind="pdlaunch")


def words(name: str, value: ArgValue, negatable: frozenset[str] = frozenset()) -> list[tuple[str, ...]]:
    flags = profile_flags({name: Written(value, ("engine", "args", name), 7)}, "x.yaml", negatable)
    assert {str(flag.origin) for flag in flags} <= {"x.yaml:7"}
    return [flag.words for flag in flags]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, [("--flag",)]),
        (False, []),
        (None, []),
        ("4096", [("--flag", "4096")]),
        ("", [("--flag", "")]),
        ("two words", [("--flag", "two words")]),
        (("1", "2", "4"), [("--flag", "1", "2", "4")]),
        (("one",), [("--flag", "one")]),
        ("-1", [("--flag=-1",)]),
        ("--odd", [("--flag=--odd",)]),
        (("-1",), [("--flag=-1",)]),
        ('{"thinking": true}', [("--flag", '{"thinking": true}')]),
    ],
)
def test_a_profile_s_flag(value: ArgValue, expected: list[tuple[str, ...]]) -> None:
    assert words("flag", value) == expected


def test_false_is_written_out_only_where_the_engine_has_a_word_for_it() -> None:
    assert words("flag", False, frozenset({"flag"})) == [("--no-flag",)]
    assert words("flag", True, frozenset({"flag"})) == [("--flag",)]
    assert words("other", False, frozenset({"flag"})) == []


def test_a_plan_writes_no_twins_for_the_flags_that_have_one(tmp_path: Path) -> None:
    path = tmp_path / "six.yaml"
    path.write_text(SIX.replace("engine: {", "engine: {args: {enable-x: false, enable-y: false}, "))
    plan = resolve(load(path), FACTS.model_copy(update={"negatable": frozenset({"enable-x"})}))
    for name in ("prefill-0", "decode-0"):
        assert "--no-enable-x" in service(plan, name).words()
        assert "--no-enable-y" not in service(plan, name).words()


def test_a_router_knows_each_prefill_with_its_bootstrap_port_and_each_decode(tmp_path: Path) -> None:
    text = SIX.replace("{gpus: 0-3}", "{replicas: [{gpus: 0-1}, {gpus: 2-3, bootstrap_port: 30500}]}")
    text = text.replace("{gpus: 4-7}", "{replicas: [{gpus: 4-5}, {gpus: 6-7}]}")
    found = service(planned(tmp_path, text.replace("port: 8000", "port: 8000, host: 0.0.0.0")), "router").words()
    begin, end = found.index("--host"), found.index("--worker-startup-check-interval")
    assert found[begin:end] == (
        *("--host", "0.0.0.0", "--port", "8000", "--pd-disaggregation"),
        *("--prefill", "http://127.0.0.1:31000", "31003", "--prefill", "http://127.0.0.1:31010", "30500"),
        *("--decode", "http://127.0.0.1:31020", "--decode", "http://127.0.0.1:31030"),
        *("--prometheus-host", "0.0.0.0", "--prometheus-port", "31040"),
    )


def test_a_decode_names_the_first_prefill_s_bootstrap_port(tmp_path: Path) -> None:
    text = SIX.replace("{gpus: 0-3}", "{replicas: [{gpus: 0-1, bootstrap_port: 30501}, {gpus: 2-3}]}")
    found = service(planned(tmp_path, text), "decode-0").words()
    assert found[found.index("--disaggregation-bootstrap-port") + 1] == "30501"


def test_a_router_over_aggregated_servers() -> None:
    workers = [Worker("http://h:1", "aggregated", None), Worker("http://h:2", "aggregated", None)]
    found = [f.words for f in router_flags(("127.0.0.1", OWN), (8000, OWN), (31020, OWN), workers)]
    assert found == [
        ("--host", "127.0.0.1"),
        ("--port", "8000"),
        ("--worker-urls", "http://h:1", "http://h:2"),
        ("--prometheus-host", "127.0.0.1"),
        ("--prometheus-port", "31020"),
    ]


def test_how_the_router_waits_for_its_workers_follows_ready_and_can_be_written(tmp_path: Path) -> None:
    text = SIX + "ready: {within: 90s}\n"
    found = service(planned(tmp_path, text), "router")
    by_name = {a.words[0]: (a.words[1:], str(a.origin)) for a in found.argv[1:]}
    assert by_name["--worker-startup-timeout-secs"] == (("90",), "six.yaml:7  ready.within")
    text = text.replace("port: 8000", "port: 8000, args: {worker-startup-timeout-secs: 7}")
    assert service(planned(tmp_path, text), "router").words()[-2:] == ("--worker-startup-timeout-secs", "7")


def test_the_aggregated_twin_has_no_word_of_disaggregation(tmp_path: Path) -> None:
    text = "name: twin\nmodel: /m\nengine: {venv: /opt/v}\naggregated: {gpus: 0-7, port: 30000}\n"
    (only,) = planned(tmp_path, text).services
    assert (only.name, only.role) == ("aggregated-0", "aggregated")
    assert not [word for word in only.words() if "disaggregation" in word]
    assert only.ports == {"http": 30000, "nccl": 31002}


def test_a_simulator_is_run_by_pdlaunch_s_own_python(tmp_path: Path) -> None:
    text = "name: s\nengine: {kind: simulator}\naggregated: {}\n"
    (only,) = planned(tmp_path, text).services
    program, *rest = only.argv
    assert program.words == ("/opt/pdlaunch/bin/python", "-m", "launcher.simulator")
    assert rest[0].words == ("--model-path", "simulated-model")


def test_a_router_s_metrics_port_can_be_written(tmp_path: Path) -> None:
    router = service(planned(tmp_path, SIX.replace("port: 8000", "port: 8000, metrics_port: 8001")), "router")
    found = router.words()
    assert found[found.index("--prometheus-port") + 1] == "8001"
    assert router.ports["metrics"] == 8001
