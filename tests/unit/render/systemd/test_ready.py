"""`ready.py` as a generation carries it, against simulated servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from launcher.operations import proving
from launcher.probe.prompt import first_length
from launcher.render.systemd.readiness import first_prompt
from launcher.simulator import testing

from .fake_server import TOKENS, serving
from .making import shipped_plan
from .scripts import Scripts


@pytest.fixture
def scripts(tmp_path: Path) -> Scripts:
    return Scripts(tmp_path / "scripts")


@pytest.fixture
def pair(scripts: Scripts, tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Start a pair that shows a fault, and tell the scripts of it."""
    with ExitStack() as stack:

        def begin(fault: str = "", *more: str) -> None:
            given = {"PDLAUNCH_SIM_FAULT": fault}
            prefill = stack.enter_context(testing.start(tmp_path, "prefill", more, given))
            bootstrap = prefill.bootstrap_port
            decode = stack.enter_context(testing.start(tmp_path, "decode", more, given, bootstrap_port=bootstrap))
            scripts.add("prefill-0", prefill.port, bootstrap=bootstrap)
            scripts.add("decode-0", decode.port)

        yield begin


def test_tokens_on_every_path_are_ready(scripts: Scripts, pair: Callable[[str], None]) -> None:
    pair("load:1s")
    code, said = scripts.run()
    assert code == 0, said
    assert "decode-0  ready, " in said
    assert said.endswith("token  600 in, 4 out, prefill-0 -> decode-0\nready  proven to 600 tokens\n")


def test_one_server_that_does_both(scripts: Scripts, tmp_path: Path) -> None:
    with testing.start(tmp_path, "null", (), {}) as server:
        scripts.add("aggregated-0", server.port)
        assert scripts.run()[0] == 0


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("reject:decode:500", "decode-0 answered 500"),
        ("reject:prefill:503", "prefill-0 answered 503"),
        ("hang:decode", "no answer, timed out after "),
        ("hang:prefill", "no answer, timed out after "),
    ],
)
def test_a_path_without_tokens_is_named(scripts: Scripts, pair: Callable[[str], None], fault: str, why: str) -> None:
    pair(fault)
    scripts.facts["within"] = 4
    code, said = scripts.run()
    assert code == 1
    assert f"error: token  prefill-0 -> decode-0: {why}" in said


def test_a_server_that_failed_is_not_waited_for(scripts: Scripts, free_port: Callable[[], int]) -> None:
    scripts.add("decode-0", free_port())
    scripts.unit("decode-0", ActiveState="failed", Result="exit-code")
    code, said = scripts.run()
    assert (code, said) == (
        1,
        "error: decode-0  it failed: exit-code; its words: journalctl -u pd-d-decode-0.service\n",
    )


def test_one_that_is_started_again_is_waited_for_and_what_is_late_is_named(
    scripts: Scripts, free_port: Callable[[], int]
) -> None:
    scripts.facts["within"] = 1
    scripts.add("decode-0", free_port())
    scripts.unit("decode-0", ActiveState="activating", SubState="auto-restart")
    code, said = scripts.run()
    assert code == 1
    assert "decode-0  ended by itself, is started again, 0 s\n" in said
    assert "s: decode-0 (ended by itself, is started again)\n" in said


def test_a_key_is_taken_from_the_credential_else_from_its_file(scripts: Scripts, tmp_path: Path) -> None:
    asked: list[str | None] = []

    def answer(path: str, authorization: str | None) -> tuple[int, str]:
        if path == "/generate":
            asked.append(authorization)
        return 200, TOKENS

    file, credentials = tmp_path / "key", tmp_path / "credentials"
    file.write_text("from the file\n")
    credentials.mkdir()
    with serving(answer) as port:
        scripts.add("aggregated-0", port, key="aggregated-0")
        scripts.facts["keys"] = {"aggregated-0": str(file)}
        assert scripts.run()[0] == 0
        (credentials / "aggregated-0").write_text("from systemd\n")
        assert scripts.run(environment={"CREDENTIALS_DIRECTORY": str(credentials)})[0] == 0
    assert asked == ["Bearer from the file", "Bearer from systemd"]


def test_the_prompt_is_as_long_as_the_one_of_up() -> None:
    plan = shipped_plan()
    short = plan.model_copy(update={"context": 4000})
    asked = plan.model_copy(update={"ready": plan.ready.model_copy(update={"prompt": 99})})
    for each in (plan, short, asked, plan.model_copy(update={"context": None})):
        assert first_prompt(each) == first_length(each.chunk, each.context, each.ready.prompt, proving._ROOM)
