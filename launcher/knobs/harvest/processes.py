"""Calls a function on several inputs at once, each in a Python of its own.

A plain child process and two pipes: multiprocessing would import the caller's main module again, or fork a program of
whose threads it knows nothing.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from launcher.errors import PdlaunchError

T = TypeVar("T")
R = TypeVar("R")
_CHILD = "from launcher.knobs.harvest.processes import answer; answer()"


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_processes(function: Callable[[T], R], inputs: Sequence[T]) -> Iterator[R]:
    """``function(each)`` for every input, in order; the first is computed here, the others meanwhile in children.

    `function` must be importable by its name. Raises PdlaunchError where a child ends without an answer.
    """
    if not inputs:
        return
    with ExitStack() as stack:
        children = [stack.enter_context(_started(function, each)) for each in inputs[1:]]
        for child in children:
            stack.callback(child.kill)  # does nothing to one that has ended
        yield function(inputs[0])
        for child in children:
            said, complaint = child.communicate()
            if child.returncode != 0:
                raise PdlaunchError(
                    f"reading the engine's source failed in a child process (exit {child.returncode})",
                    hint=complaint.decode(errors="replace").strip().rpartition("\n")[2] or None,
                )
            yield pickle.loads(said)  # noqa: S301 - our own child's answer, over a pipe


def _started(function: Callable[[Any], Any], argument: object) -> subprocess.Popen[bytes]:
    here = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join(part for part in (here, os.environ.get("PYTHONPATH")) if part)
    child = subprocess.Popen(
        [sys.executable, "-S", "-c", _CHILD],  # without site: the harvest needs nothing but the standard library
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    if child.stdin is not None:
        child.stdin.write(pickle.dumps((function, argument)))
        child.stdin.close()
        child.stdin = None  # communicate() would flush it again
    return child


def answer() -> None:
    """The child's part: a function and its argument from standard input, the outcome to standard output."""
    function, argument = pickle.load(sys.stdin.buffer)  # noqa: S301 - our own parent's order, over a pipe
    outcome = pickle.dumps(function(argument))
    sys.stdout.buffer.write(outcome)
