import re

import pytest

from launcher.simulator.environ import KNOWN_ENV, Environment


def test_an_empty_environment_has_sglangs_defaults() -> None:
    environment = Environment.read({})
    assert environment == Environment()
    assert (environment.waiting_timeout_s, environment.health_timeout_s) == (300.0, 20.0)


def test_durations_become_seconds() -> None:
    environment = Environment.read({"PDLAUNCH_SIM_TOKEN_MS": "20", "PDLAUNCH_SIM_PREFILL_US": "5"})
    assert (environment.token_s, environment.prefill_token_s) == pytest.approx((0.02, 5e-6))


def test_a_bad_number_of_the_simulator_is_refused() -> None:
    with pytest.raises(ValueError, match=re.escape("PDLAUNCH_SIM_LINGER_S='5s' is not a number")):
        Environment.read({"PDLAUNCH_SIM_LINGER_S": "5s"})


def test_a_bad_number_of_sglang_is_a_warning_as_in_sglang() -> None:
    environment = Environment.read({"SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "600s"})
    assert environment.waiting_timeout_s == 300.0
    assert len(environment.warnings) == 1
    assert "600s" in environment.warnings[0]


@pytest.mark.parametrize(("text", "value"), [("true", True), ("1", True), ("on", False), ("false", False), ("", False)])
def test_truth_is_spelled_as_sglang_reads_it(text: str, value: bool) -> None:
    assert Environment.read({"SGLANG_EXPOSE_OWN_ENV_VARS": text}).expose_env is value


def test_only_known_variables_are_kept() -> None:
    given = {"SGLANG_HOST_IP": "127.0.0.2", "SECRET": "x"}
    assert Environment.read(given).own_variables == (("SGLANG_HOST_IP", "127.0.0.2"),)
    assert "SGLANG_HOST_IP" in KNOWN_ENV
