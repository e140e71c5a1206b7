"""What a shell offers on TAB: commands, options, and names that lie on the disk; nothing of ours is loaded for it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from launcher.cli import completing
from launcher.cli.pages import completion_words
from launcher.plan.model import Plan
from launcher.render.bundle import Bundle
from launcher.store import Store, cache_dir, give_name, layout
from launcher.store.names import take_name

from ...deployments import PDLAUNCH, pdlaunch
from ..compare.making import plan, service
from .test_front import HEAVY, loaded_by


def offered(*line: str) -> set[str]:
    """What may stand in the place of the last word."""
    *before, current = line
    return {word for word in completing.candidates(before, current) if word.startswith(current)}


@pytest.fixture
def store() -> Store:
    made: Plan = plan(service("prefill-0"), service("decode-0"), service("router"))
    store = Store(layout("pd"))
    store.layout.engines.mkdir(parents=True)
    for _ in range(2):
        store.commit(b"", made, Bundle({}), snapshot_digest=None, by="anna", source="/x/pd.yaml")
    return store


def test_the_words_are_those_of_the_commands() -> None:
    assert completing.WORDS.read_text() == completion_words(), "run: python -m launcher.cli.pages"


def test_commands_and_what_belongs_to_them() -> None:
    assert {"up", "diff", "explain", "knobs"} <= offered("")
    assert offered("ex") == {"explain"}
    assert offered("engine", "") == {"install", "add", "list"}
    assert {"lint", "diff", "list", "NCCL_P2P_LEVEL"} <= offered("knobs", "")
    assert offered("status", "--") == {"--deployment", "--json", "--help"}
    assert offered("knobs", "lint", "--") == {"--engine", "--json", "--help"}
    assert offered("no-such-command", "") == set()


@pytest.mark.parametrize("command", [("explain",), ("declare",), ("knobs",), ("knobs", "list"), ("explain", "--json")])
def test_names_of_knobs_need_no_cache(command: tuple[str, ...]) -> None:
    assert offered(*command, "SGLANG_SM120_M") == {"SGLANG_SM120_MMA_TARGET_CTAS"}
    assert offered(*command, "mem-fraction") == {"mem-fraction-static"}


def test_names_of_an_engine_that_was_read_come_from_what_is_kept_of_it() -> None:
    (cache_dir() / "knobs").mkdir(parents=True)
    row = ["sglang", "1", {"=": {"new-flag": []}}, {"=": {"SGLANG_NEW_ONE": []}}, [], {}, {}, {}, [], True]
    kept = cache_dir() / "knobs" / "knobs-1-whole.json"
    kept.write_text(json.dumps({"state": "", "knobs": row}))
    assert offered("explain", "SGLANG_NEW") == {"SGLANG_NEW_ONE"}
    assert offered("explain", "new-f") == {"new-flag"}
    kept.write_text("{")
    assert "SGLANG_TIMEOUT_KEEP_ALIVE" in offered("explain", "SGLANG_TIMEOUT"), "what is damaged offers nothing"


def test_deployments_generations_their_names_and_services(store: Store) -> None:
    for name in ("noon", "old"):
        give_name(store, name, 1, by="anna")
    take_name(store, "old", by="anna")
    assert offered("status", "-d", "") == {"pd"}
    assert offered("diff", "") == {"1", "2", "noon", "good", "-1"} == offered("diff", "noon", "")
    assert offered("rollback", "--to", "n") == {"noon"}
    assert offered("diff", "noon", "2", "") == set()
    assert offered("logs", "router", "") == {"prefill-0", "decode-0", "router"}
    assert offered("diff", "-d", "nobody", "") == set()


def test_where_a_file_or_free_text_is_meant_the_shell_is_left_to_itself() -> None:
    for line in (("up", ""), ("check", ""), ("up", "-m", ""), ("explain", "NCCL_DEBUG", "--profile", "")):
        assert offered(*line) == set()
    assert offered("plan", "x.yaml", "--backend", "") == {"supervisord", "systemd"}


def test_a_shell_is_answered_without_loading_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_PDLAUNCH_COMPLETE", "1")
    out, modules = loaded_by("explain", "SGLANG_SM120_M")
    assert out == "SGLANG_SM120_MMA_TARGET_CTAS\n"
    assert modules & HEAVY == set()


BASH = """
eval "$({pdlaunch} --show-completion bash)"
complete -p pdlaunch
COMP_WORDS=({pdlaunch} {line})
COMP_CWORD={at}
_pdlaunch {pdlaunch}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("line", "at", "words"),
    [
        ("explain SGLANG_SM120_M", 2, ["SGLANG_SM120_MMA_TARGET_CTAS"]),
        ("dif", 1, ["diff"]),
        ("status ''", 2, [""]),
        ("engine ''", 2, ["add", "install", "list"]),
    ],
)
def test_bash_completes(line: str, at: int, words: list[str]) -> None:
    script = BASH.format(pdlaunch=PDLAUNCH, line=line, at=at)
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    first, *found = done.stdout.removesuffix("\n").split("\n")
    assert (first, found, done.stderr) == ("complete -o default -F _pdlaunch pdlaunch", words, "")


@pytest.mark.parametrize("shell", completing.SHELLS)
def test_each_shell_has_its_script(shell: str) -> None:
    done = pdlaunch("--show-completion", shell)
    assert (done.returncode, "_PDLAUNCH_COMPLETE=1" in done.stdout) == (0, True)
    if program := shutil.which(shell):
        assert subprocess.run([program, "-n", "-c", done.stdout], check=False, timeout=60).returncode == 0


@pytest.mark.parametrize("words", [(), ("tcsh",), ("bash", "zsh")])
def test_another_shell_is_one_clear_error(words: tuple[str, ...], tmp_path: Path) -> None:
    done = pdlaunch("--show-completion", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: which shell? bash, zsh, fish\nhint: pdlaunch --show-completion bash\n"
