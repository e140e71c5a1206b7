"""The transcript in the README is what the script prints today, but for times, pids, folders and who runs it."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ..deployments import PDLAUNCH

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
VARYING = (
    (r"/tmp/tmp\.\w+|/srv/agents", "FOLDER"),
    (r"\b\d\d:\d\d\b(?!:)", "HH:MM"),
    (r"(?<=tokens\. )\S+( s)?", "N s"),
    (r"\(pid \d+\)", "(pid N)"),
    (r"127\.0\.0\.1:\d+", "HOST:PORT"),
    (r"\b\d{4}-\d\d-\d\d$", "DATE"),
    (r"until \w{3} \d+ \w{3}", "until DAY"),
    (r"(?<=fork\.yaml:)\d+", "N"),
)


def settled(text: str) -> str:
    for pattern, word in VARYING:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return text.strip()


def test_the_transcript_is_what_runs(
    tmp_path: Path, free_port: Callable[[], int], router_venv: Path, installed_engines: Path, assigned_ports: None
) -> None:
    first = next(port for port in iter(free_port, None) if port % 10 == 0)
    environment = {**os.environ, "PDLAUNCH": PDLAUNCH, "PDLAUNCH_BY": "assistant", "PREFILL": str(first)}
    told = subprocess.run(
        ["bash", str(ROOT / "examples" / "noon.sh")], env=environment, capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stdout + told.stderr
    readme = (ROOT / "README.md").read_text()
    shown = re.search(r"```\n(\$ pdlaunch up agents\.yaml.*?)\n```", readme, re.DOTALL)
    assert shown is not None
    assert settled(told.stdout) == settled(shown[1])
