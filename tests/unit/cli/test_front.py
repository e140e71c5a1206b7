"""What is asked most often is answered without loading what commands need."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from launcher import __version__
from launcher.cli.front import HELP

from ...deployments import pdlaunch

HEAVY = {"typer", "click", "pydantic", "pydantic_core", "yaml", "jinja2", "psutil", "supervisor", "asyncio", "http"}
TELL = """
import json, sys
sys.argv = ["pdlaunch", *sys.argv[1:]]
from launcher.cli import main
try:
    main()
finally:
    sys.stderr.write(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def loaded_by(*words: str) -> tuple[str, set[str]]:
    """What a command line prints, and the top-level modules that it loaded."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", TELL, *words], capture_output=True, text=True, check=False, timeout=60
    )
    return done.stdout, set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("words", [(), ("--help",), ("-h",), ("--version",)])
def test_the_first_page_and_the_version_need_nothing(words: tuple[str, ...]) -> None:
    out, modules = loaded_by(*words)
    assert out == (f"pdlaunch {__version__}\n" if words == ("--version",) else HELP.read_text())
    assert modules & HEAVY == set()
    assert "launcher" in modules


def test_commands_load_what_they_need_and_not_what_others_need() -> None:
    _, modules = loaded_by("schema")
    assert {"typer", "pydantic"} <= modules
    assert modules & {"jinja2", "supervisor"} == set()


def test_python_m_launcher_is_the_command() -> None:
    words = [sys.executable, "-m", "launcher", "--version"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == f"pdlaunch {__version__}\n"
    assert pdlaunch("--version").stdout == f"pdlaunch {__version__}\n"


@pytest.mark.parametrize("words", [("schema",), ("engine", "list")])
def test_a_reader_that_went_away_is_no_error(words: tuple[str, ...]) -> None:
    """Whether more is said than a buffer holds, or less: then it is noticed only at the end."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "launcher", *words]
    with os.fdopen(write, "wb") as gone:
        done = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
