import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.simulator.environ import Environment
from launcher.simulator.faults import Fault, FaultError, Faults, parse


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("hang:decode:48k", Fault("hang", "decode", context=48_000)),
        ("hang", Fault("hang")),
        ("slow:prefill:10ms/token", Fault("slow", "prefill", seconds=0.01, per_token=True)),
        ("slow:2s:prefill:500", Fault("slow", "prefill", seconds=2.0, context=500)),
        ("crash:decode:after=3", Fault("crash", "decode", after=3)),
        ("crash:after=250ms", Fault("crash", after_s=0.25)),
        ("crash:start", Fault("crash", at_start=True)),
        ("crash:64k", Fault("crash", context=64_000)),
        ("exit0:after=2s", Fault("exit0", after_s=2.0)),
        ("reject:prefill:503", Fault("reject", "prefill", status=503)),
        ("reject:decode:500:after=1", Fault("reject", "decode", status=500, after=1)),
        ("ignore-term", Fault("ignore-term")),
        ("load:5s", Fault("load", seconds=5.0)),
        ("load:1m", Fault("load", seconds=60.0)),
        ("no-token:aggregated:after=2", Fault("no-token", "aggregated", after=2)),
        ("frozen-transfer", Fault("frozen-transfer")),
    ],
)
def test_the_grammar(text: str, fault: Fault) -> None:
    assert parse(text) == (fault,)


def test_a_list_and_nothing() -> None:
    assert [fault.kind for fault in parse("load:5s, ignore-term")] == ["load", "ignore-term"]
    assert parse("") == parse("  ") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hangs", "unknown fault 'hangs'; known: hang, "),
        ("hang:decoder", "hang takes no part 'decoder'; allowed: a role (prefill, decode, aggregated)"),
        ("load", "load needs one of a duration such as 5s"),
        ("exit0:after=2", "exit0 takes no part 'after=2'"),
        ("reject:decode:200", "reject takes no part '200'"),
        ("hang:48k:64k", "a context such as 48k is said twice"),
        ("load:5s,", "unknown fault ''"),
    ],
)
def test_bad_grammar_says_what_is_allowed(text: str, said: str) -> None:
    with pytest.raises(FaultError, match=re.escape(said)):
        parse(text)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    said = ""
    try:
        parse(text)
    except FaultError as error:
        said = str(error)
    assert len(said.splitlines()) <= 1


def test_a_server_has_the_faults_of_its_role_and_those_of_all() -> None:
    environment = Environment(fault="load:5s,hang:decode:48k,slow:prefill:1s")
    assert [fault.kind for fault in Faults.read(environment, "decode").all] == ["load", "hang"]


def test_the_variable_of_the_field_hangs_long_contexts_of_a_decode() -> None:
    environment = Environment(target_ctas=512)
    decode = Faults.read(environment, "decode")
    assert decode.reached("hang", 48_000)
    assert not decode.reached("hang", 47_999)
    assert Faults.read(environment, "prefill").all == ()
    assert Faults.read(Environment(target_ctas=256), "decode").all == ()


def test_delays_add_up() -> None:
    faults = Faults(parse("slow:10ms/token,slow:2s,slow:1s/token:100"))
    assert faults.delay(3, first=True, context=50) == pytest.approx(2.03)
    assert faults.delay(3, first=False, context=50) == pytest.approx(0.03)
    assert faults.delay(3, first=False, context=100) == pytest.approx(3.03)


def test_a_fault_is_due_after_its_number_of_requests_unless_it_waits_for_something_else() -> None:
    faults = Faults(parse("hang:after=2,crash:start,crash:after=1s,crash:48k"))
    assert [faults.due("hang", number) for number in (1, 2, 3)] == [False, False, True]
    assert not faults.due("crash", 1000)
