from __future__ import annotations

import fcntl
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from launcher.engines.cpu.pip import Pip, explain, variables
from launcher.errors import PdlaunchError

TALK = "Collecting a==1\n  Downloading a-1.whl (3 kB)\nchatter\nInstalling collected packages: a\n"


@pytest.fixture
def pip(tmp_path: Path) -> Iterator[Pip]:
    """A pip whose Python is a script, written by `behave`."""
    with (tmp_path / "lock").open("w") as lock:
        yield Pip(
            python=tmp_path / "python", log=tmp_path / "install.log", scratch=tmp_path / "tmp", lock=lock.fileno()
        )


def behave(pip: Pip, code: str) -> None:
    """Let the pip of the test run this code."""
    pip.python.write_text(f"#!{sys.executable}\nimport json, os, sys\n{code}\n")
    pip.python.chmod(0o755)


def test_it_installs_exactly_what_it_is_given_and_tells_what_matters(pip: Pip) -> None:
    behave(pip, f"print(json.dumps(sys.argv[1:])); print({TALK!r}, end='')")
    told: list[str] = []

    pip.install(["a==1", "b==2"], told.append)

    assert told == ["Collecting a==1", "Downloading a-1.whl (3 kB)", "Installing collected packages: a"]
    command, arguments, *rest = pip.log.read_text().splitlines()
    assert command.startswith(f"$ {pip.python} -m pip ")
    assert json.loads(arguments)[-6:] == ["install", "--no-deps", "--progress-bar", "off", "a==1", "b==2"]
    assert "\n".join(rest) + "\n" == TALK
    assert not pip.scratch.exists()


def test_a_failure_carries_the_last_lines_and_the_way_on(pip: Pip) -> None:
    lines = [f"line {n}" for n in range(20)]
    behave(pip, f"print({chr(10).join(lines)!r}); print('WARNING: noise', file=sys.stderr); sys.exit(3)")
    with pytest.raises(PdlaunchError) as caught:
        pip.uninstall(["a"], lambda _: None)
    assert caught.value.message.splitlines()[0] == "pip failed with exit code 3"
    assert [line.strip() for line in caught.value.message.splitlines()[1:-1]] == lines[-8:]
    assert str(pip.log) in caught.value.message
    assert caught.value.hint == "go on where it stopped: pdlaunch engine install cpu"


def test_pip_goes_on_holding_the_lock_when_pdlaunch_is_gone(tmp_path: Path, pip: Pip) -> None:
    behave(
        pip, f"import fcntl; fcntl.flock({pip.lock}, fcntl.LOCK_EX); print('Collecting', os.fstat({pip.lock}).st_ino)"
    )
    told: list[str] = []
    pip.install(["a==1"], told.append)
    assert told == [f"Collecting {(tmp_path / 'lock').stat().st_ino}"]
    with (tmp_path / "lock").open() as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_an_interruption_ends_pip(pip: Pip, tmp_path: Path) -> None:
    behave(
        pip,
        "import signal, time, pathlib\n"
        f"signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path({str(tmp_path / 'ended')!r}).touch(), sys.exit(1)))\n"
        "print('Collecting a', flush=True)\ntime.sleep(60)",
    )

    def interrupt(_detail: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pip.install(["a==1"], interrupt)
    assert (tmp_path / "ended").exists()


def test_the_user_s_index_and_proxy_count_and_no_other_environment_does(tmp_path: Path) -> None:
    inherited = {
        "PIP_INDEX_URL": "https://index.example.org/simple",
        "HTTPS_PROXY": "http://proxy.example.org",
        "PIP_TARGET": "/elsewhere",
        "PIP_USER": "1",
        "PYTHONPATH": "/elsewhere",
        "PYTHONHOME": "/elsewhere",
    }
    assert variables(inherited, tmp_path) == {
        "PIP_INDEX_URL": "https://index.example.org/simple",
        "HTTPS_PROXY": "http://proxy.example.org",
        "TMPDIR": str(tmp_path),
        "PYTHONNOUSERSITE": "1",
    }


@pytest.mark.parametrize(
    ("said", "what", "hint"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "disk is full",
            "make room",
        ),
        (
            "ERROR: No matching distribution found for torch==2.13.0+cpu",
            "pip finds no torch==2.13.0+cpu, the CPU build",
            "PIP_EXTRA_INDEX_URL",
        ),
        (
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('...')'\n"
            "ERROR: No matching distribution found for torch==2.13.0+cpu",
            "cannot reach its package index",
            "proxy",
        ),
        ("ERROR: No matching distribution found for six==99", "pip failed with exit code 1", "go on where it stopped"),
    ],
)
def test_the_cause_is_named_where_it_is_known(tmp_path: Path, said: str, what: str, hint: str) -> None:
    error = explain(said.splitlines(), 1, tmp_path / "install.log")
    assert what in error.message.splitlines()[0]
    assert hint in (error.hint or "")
    assert (error.hint or "").endswith("pdlaunch engine install cpu")


def test_a_line_that_lists_every_version_is_cut_short(tmp_path: Path) -> None:
    error = explain(["(from versions: " + ", ".join(map(str, range(1000))) + ")"], 1, tmp_path / "install.log")
    assert max(map(len, error.message.splitlines()[:-1])) <= 170
