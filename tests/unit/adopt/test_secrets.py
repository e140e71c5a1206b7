from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.adopt.secrets import cut, cut_names, is_secret, secrets_of


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "my_api_key", "DB_PASSWORD"],
)
def test_names_that_hold_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["SGLANG_MAX_TOKENS", "TOKENIZERS_PARALLELISM", "NCCL_DEBUG", "KEY", "SGLANG_TOKENIZER", "AWS_REGION"]
)
def test_names_that_do_not(name: str) -> None:
    assert not is_secret(name)


def test_flags_are_cut_where_they_stand_and_variables_apart() -> None:
    found = secrets_of(
        ["--port", "1", "--api-key", "k1", "--admin-api-key=k2", "--tp", "2"], {"HF_TOKEN": "t", "A_TOKEN": ""}
    )
    assert found.words == (("--port", "1"), ("--api-key",), ("--admin-api-key=",), ("--tp", "2"))
    assert found.flags == {"--api-key": "k1", "--admin-api-key": "k2"}
    assert found.variables == {"HF_TOKEN": "t"}


def test_a_text_loses_known_values_and_what_is_given_to_secret_names() -> None:
    text = "export HF_TOKEN=hf_123 A=1\npython --api-key 'other one' --port 1 --x sk-0123 B_API_KEY=\"q r\" $C_TOKEN\n"
    assert cut(text, {"sk-0123": "/s/api-key"}) == (
        "export HF_TOKEN=[cut out] A=1\npython --api-key [cut out] --port 1 --x [cut out, kept in /s/api-key] "
        "B_API_KEY=[cut out] $C_TOKEN\n"
    )


@given(
    st.from_regex(r"[A-Za-z0-9+/=_-]{4,30}", fullmatch=True), st.sampled_from(["--api-key ", "--api-key=", "HF_TOKEN="])
)
def test_no_value_given_to_a_secret_name_stays(value: str, before: str) -> None:
    assert value not in cut_names(f"run {before}{value} --end").removeprefix(f"run {before}").removesuffix(" --end")
