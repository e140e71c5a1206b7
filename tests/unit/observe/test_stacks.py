"""Where a process stands, with py-spy and without."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from launcher.observe.stacks import kernel_side, py_spy, stack

from ...deployments import until


def test_a_stopped_process_is_told_stopped_and_py_spy_missed() -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        os.kill(process.pid, signal.SIGSTOP)
        told = until(lambda: text if "State:\tT" in (text := stack(process.pid, None)) else "")
        process.kill()
    assert "py-spy is not installed" in told
    assert "state T" in told
    assert f"thread {process.pid} (python" in told


def test_a_tool_that_fails_says_why_and_hides_nothing_else(tmp_path: Path) -> None:
    tool = tmp_path / "py-spy"
    tool.write_text("#!/bin/sh\necho no permission >&2\nexit 1\n")
    tool.chmod(0o755)
    assert py_spy([tmp_path]) == str(tool)
    told = stack(os.getpid(), str(tool))
    assert "py-spy failed: no permission" in told
    assert "Threads:" in told


def test_a_process_that_is_gone_is_told_gone() -> None:
    assert kernel_side(2**22 + 1) == f"process {2**22 + 1} is gone"
