"""Many processes that do the same at the same moment."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import TypeAlias

Report: TypeAlias = Callable[[str], None]
Stay: TypeAlias = Callable[[], None]
Task: TypeAlias = Callable[[int, Report, Stay], None]


def crowd(size: int, task: Task, *, lines: int | None = None) -> list[str]:
    """Fork `size` processes that run `task(number, report, stay)` all at once; the first `lines` lines they report.

    `stay()` returns when that many lines (one per process, if not said) have arrived, so whoever holds something can
    keep it until the others have seen it. A process that fails fails the test.
    """
    go, reports, leave = os.pipe(), os.pipe(), os.pipe()
    children = [_child(i, task, go, reports, leave) for i in range(size)]
    for fd in (*go, reports[1], leave[0]):
        os.close(fd)
    with os.fdopen(reports[0]) as arriving:
        seen = [arriving.readline().rstrip("\n") for _ in range(size if lines is None else lines)]
        os.close(leave[1])
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * size
    return seen


Pipe: TypeAlias = tuple[int, int]


def _child(number: int, task: Task, go: Pipe, reports: Pipe, leave: Pipe) -> int:
    if (pid := os.fork()) != 0:
        return pid
    status = 1
    try:
        os.close(go[1])
        os.close(leave[1])
        os.read(go[0], 1)  # ends when the parent, the last to hold the other side, lets go of it
        task(number, lambda line: (os.write(reports[1], f"{line}\n".encode()), None)[1], lambda: _end_of(leave[0]))
        status = 0
    finally:
        if status:
            traceback.print_exc()
        os._exit(status)


def _end_of(fd: int) -> None:
    os.read(fd, 1)
