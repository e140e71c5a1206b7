import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.simulator.arguments import parse

WORDS = st.from_regex(r"[A-Za-z0-9./:=_]+", fullmatch=True)


def test_defaults_are_resolved() -> None:
    values = parse(["--model-path", "tiny"]).values
    assert (values["served_model_name"], values["tokenizer_path"], values["page_size"]) == ("tiny", "tiny", 1)


def test_a_decode_keeps_no_prefix_cache_unless_told_to() -> None:
    base = ["--model-path", "tiny", "--disaggregation-mode", "decode"]
    assert parse(base).switch("disable_radix_cache")
    assert not parse([*base, "--disaggregation-decode-enable-radix-cache"]).switch("disable_radix_cache")


def test_aliases_are_the_same_flag() -> None:
    assert parse(["--model", "tiny", "--tensor-parallel-size", "4"]).number("tp_size") == 4


@given(st.from_regex(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", fullmatch=True).map(lambda name: f"x-{name}"), WORDS)
def test_an_unknown_flag_is_recorded(name: str, value: str) -> None:
    unknown = parse(["--model-path", "tiny", f"--{name}", value]).unknown
    assert unknown == {name.replace("-", "_"): value}


def test_an_unknown_flag_may_have_no_value_or_several_or_a_negative_one() -> None:
    given_words = ["--model-path", "tiny", "--x-alone", "--x-many", "1", "2", "--x-less", "-1", "--x-joined=a=b"]
    assert parse(given_words).unknown == {"x_alone": True, "x_many": ["1", "2"], "x_less": "-1", "x_joined": "a=b"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stray"], "a value without a flag: 'stray'"),
        (["--Upper", "1"], "not a flag: '--Upper'"),
        (["--under_score", "1"], "not a flag: '--under_score'"),
        (["-x"], "not a flag: '-x'"),
        (["--port", "abc"], "invalid int value: 'abc'"),
        (["--disaggregation-mode", "both"], "invalid choice: 'both'"),
        (["--page-size", "0"], "--page-size: must be at least 1, not 0"),
    ],
)
def test_what_is_malformed_ends_in_one_line(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--model-path", "tiny", *words])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_the_model_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse([])
    assert "--model-path" in capsys.readouterr().err


def test_an_abbreviation_is_no_known_flag() -> None:
    settings = parse(["--model-path", "tiny", "--served-model", "other"])
    assert settings.unknown == {"served_model": "other"}
    assert settings.text("served_model_name") == "tiny"


def test_the_command_is_kept_as_sglang_keeps_it() -> None:
    assert parse(["--model-path", "a b", "--port", "1"]).launch_command == "--model-path a b --port 1"
