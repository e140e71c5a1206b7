"""What adopting refuses, and what it makes of made-up processes and of scripts, without writing anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from launcher.cli.adopt_command import data, script_data
from launcher.cli.adopt_view import lines, script_lines
from launcher.errors import InputError
from launcher.operations.adopting import adopt, read_script
from launcher.store import deployments

from ..adopt.proc_trees import Proc

WORDS = ["python", "-m", "launcher.simulator", "--model-path", "/m/Tiny", "--port", "31000", "--context-len", "64"]


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Proc:
    monkeypatch.chdir(tmp_path)
    return Proc(tmp_path / "proc")


def test_a_dry_run_says_all_and_writes_nothing(proc: Proc, tmp_path: Path) -> None:
    environ = {"SGLANG_LOG_MS": "1", "HF_TOKEN": "hf_123456", "TERM": "x"}
    proc.add(10, [*WORDS, "--api-key", "sk-123456"], environ=environ)
    done = adopt(proc=proc.root, called="noon", dry_run=True)
    text = "\n".join(lines(done))
    assert text.startswith("found tiny; nothing was restarted or changed\n\n  aggregated-0  pid 10  ")
    secrets = Path(os.environ["PDLAUNCH_STATE_DIR"]) / "tiny" / "secrets"
    assert "    1  from a login shell: left out of the profile (TERM)" in text
    assert (
        f"    1  secret in the environment: HF_TOKEN. Cut out of the copies, kept in {secrets}/HF_TOKEN (0600)" in text
    )
    assert (
        f"    1  secret on the command line: --api-key. Cut out of the copies, kept in {secrets}/api-key (0600)" in text
    )
    assert "rollback --to noon" in text
    for told in (text, str(data(done)), done.profile.text, done.plan.model_dump_json()):
        assert ("hf_123456" in told, "sk-123456" in told) == (False, False)
    assert deployments() == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["proc"]


def test_the_profile_passes_the_checks_and_renders_what_runs(proc: Proc) -> None:
    proc.add(10, WORDS, environ={"SGLANG_LOG_MS": "1", "ANY": "a: b #c"})
    done = adopt(proc=proc.root, dry_run=True)
    assert done.profile.problems == ()
    assert done.profile.differences is not None
    assert [d for d in done.profile.differences if d.runs is not None and d.setting != "env PWD"] == []
    made = yaml.safe_load(done.profile.text)
    assert made["engine"]["env"] == {"SGLANG_LOG_MS": "1", "ANY": "a: b #c"}
    assert made["engine"]["args"] == {"context-length": "64"}


def test_a_profile_is_not_overwritten_by_accident(proc: Proc, tmp_path: Path) -> None:
    proc.add(10, WORDS, environ={"A": "1"})
    (tmp_path / "tiny.yaml").write_text("mine")
    with pytest.raises(InputError, match=r"tiny\.yaml is there already"):
        adopt(proc=proc.root)
    assert (tmp_path / "tiny.yaml").read_text() == "mine"
    assert deployments() == ()


def test_what_cannot_be_taken_over_is_explained(proc: Proc) -> None:
    proc.add(10, ["sglang::router"], cmdline=b"sglang::router\0\0")
    with pytest.raises(InputError) as caught:
        adopt(proc=proc.root)
    assert caught.value.message == (
        "cannot be adopted: router :30000 (pid 10): it calls itself 'sglang::router' and hides its command; "
        "no script is known that started it"
    )
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("pdlaunch adopt --script FILE")


def test_a_name_that_cannot_be_one_is_refused_first(proc: Proc) -> None:
    with pytest.raises(InputError, match="12 is a generation's number"):
        adopt(proc=proc.root, called="12")


def test_a_user_without_a_name_is_refused(proc: Proc) -> None:
    proc.add(10, WORDS, environ={"A": "1"}, uid=4_000_000)
    with pytest.raises(InputError, match=r"aggregated-0 .pid 10. runs as (uid 4000000|another user)"):
        adopt(proc=proc.root, dry_run=True)


SCRIPT = """\
#!/bin/bash
source ~/.bashrc
export SGLANG_LOG_MS=${MS:-5} HF_TOKEN=hf_abcdef
python -m launcher.simulator --model-path /m/Tiny \\
  --port 31000 --api-key sk-abcdef &
"""


def test_a_script_is_read_and_written_as_a_profile(tmp_path: Path) -> None:
    script, profile = tmp_path / "serve.sh", tmp_path / "new.yaml"
    script.write_text(SCRIPT)
    read = read_script(script)
    text = "\n".join(script_lines(read))
    assert text.startswith(f"{script} starts 1 server; nothing was run\n\n  line 4: python -m launcher.simulator\n")
    assert "    env SGLANG_LOG_MS=5\n" in text
    assert "  serve.sh:2  source " in text
    for told in (text, str(script_data(read))):
        assert ("hf_abcdef" in told, "sk-abcdef" in told) == (False, False)

    assert read_script(script, profile=profile, dry_run=True).profile is not None
    assert not profile.exists()
    read_script(script, profile=profile)
    made = yaml.safe_load(profile.read_text())
    assert (made["name"], made["aggregated"]["port"]) == ("tiny", 31000)
    assert made["engine"]["env"] == {"SGLANG_LOG_MS": "5"}
    read_script(script, profile=profile)  # the same text is no loss
    profile.write_text("mine")
    with pytest.raises(InputError, match=r"new\.yaml is there already"):
        read_script(script, profile=profile)
    read_script(script, profile=profile, force=True)


def test_a_script_that_cannot_be_read_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none\.sh: No such file"):
        read_script(tmp_path / "none.sh")
    (tmp_path / "binary").write_bytes(b"\x7fELF\xff")
    with pytest.raises(InputError, match="is no text in UTF-8"):
        read_script(tmp_path / "binary")
    (tmp_path / "empty.sh").write_text("echo hi\n")
    with pytest.raises(InputError, match="starts no server that can be read"):
        read_script(tmp_path / "empty.sh", profile=tmp_path / "p.yaml")
    (tmp_path / "open.sh").write_text("A='\n")
    with pytest.raises(InputError, match=r"open.sh:1: ' is never closed"):
        read_script(tmp_path / "open.sh")
