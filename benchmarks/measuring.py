"""What the benchmarks share: runs in turn, the machine in words, tables, a home of their own."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PDLAUNCH = str(Path(sys.executable).with_name("pdlaunch"))
BARE = (sys.executable, "-c", "pass")


@dataclass(frozen=True, slots=True)
class Run:
    """What a command took, in seconds; `cpu` is its time on a processor, which depends less on the machine's load."""

    wall: float
    cpu: float


def timed(command: Sequence[str]) -> Run:
    """Run `command` once; its output goes nowhere. Raises CalledProcessError where it fails."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Run(wall, usage.ru_utime + usage.ru_stime)


def in_turn(commands: Mapping[str, Sequence[str]], times: int) -> dict[str, Run]:
    """The median of `times` runs of each command; they alternate, so that all see the same machine."""
    for command in commands.values():  # fills the caches: bytecode, files
        timed(command)
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(times):
        for name, command in commands.items():
            runs[name].append(timed(command))
    return {
        name: Run(statistics.median(r.wall for r in found), statistics.median(r.cpu for r in found))
        for name, found in runs.items()
    }


@contextmanager
def own_home() -> Iterator[Path]:
    """A state and a run folder for this benchmark alone, so that nobody's deployments are met."""
    with tempfile.TemporaryDirectory(prefix="pdlaunch-benchmark-") as folder:
        home = Path(folder)
        os.environ["PDLAUNCH_STATE_DIR"] = str(home / "state")
        os.environ["PDLAUNCH_RUN_DIR"] = str(home / "run")
        yield home


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, under a line that says on what it was measured."""
    lines = [machine(), "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def machine() -> str:
    """The date, the cores, the load and the Python."""
    load = os.getloadavg()[0]
    return f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}"


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"
