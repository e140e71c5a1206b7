"""Kill, or refuse, at every system call by which the store changes something.

The functions of `os` are wrapped in a forked child, so the code under test has no hook of its own. Whatever does not go
through `os` (the built-in `open`) is found by an audit hook, see `test_crash.py`.
"""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

CHANGING = (
    "chmod",
    "fchmod",
    "fsync",
    "ftruncate",
    "link",
    "mkdir",
    "open",
    "rename",
    "replace",
    "rmdir",
    "symlink",
    "unlink",
    "utime",
    "write",
)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT

Call = tuple[str, tuple[Any, ...], dict[str, Any]]


@contextmanager
def intercepted(
    before: Callable[[Call], None] | None = None, after: Callable[[Call, Any], None] | None = None
) -> Iterator[None]:
    """Run `before` (and `after`, with the result) around every changing call of `os`."""
    originals = {name: getattr(os, name) for name in CHANGING}

    def wrap(name: str) -> Callable[..., Any]:
        original = originals[name]

        def wrapped(*args: Any, **options: Any) -> Any:
            if before is not None and not (name == "open" and not args[1] & WRITES):
                before((name, args, options))
            result = original(*args, **options)
            if after is not None:
                after((name, args, options), result)
            return result

        return wrapped

    for name in CHANGING:
        setattr(os, name, wrap(name))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(os, name, original)


def killed_at(point: int, scenario: Callable[[], object]) -> bool:
    """Run `scenario` in a child that kills itself just before its changing call number `point`.

    A write is two points: nothing written, half written. False when the scenario ended before that point.
    """
    child = os.fork()
    if child == 0:  # must never return into pytest
        status = 1
        try:
            _run_and_die(point, scenario)
            status = 0
        finally:
            if status:
                traceback.print_exc()
            os._exit(status)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the scenario failed by itself"
    return False


def _run_and_die(point: int, scenario: Callable[[], object]) -> None:
    passed = 0
    write = os.write

    def die_in_time(call: Call) -> None:
        nonlocal passed
        passed += 1
        if passed == point:
            os.kill(os.getpid(), signal.SIGKILL)
        if call[0] == "write":
            passed += 1
            if passed == point:
                fd, content = call[1]
                write(fd, content[: len(content) // 2])
                os.kill(os.getpid(), signal.SIGKILL)

    with intercepted(die_in_time):
        scenario()


def points() -> Iterator[int]:
    """1, 2, 3, …; bounded, so that a test that never ends fails instead."""
    yield from range(1, 2000)
    raise AssertionError("more crash points than any operation of the store has")
