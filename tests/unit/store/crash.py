"""Kill, or refuse, at every system call by which something is changed.

The functions of `os` are wrapped, in a forked child where that is to be killed, so the code under test has no hook of
its own. What opens a file without `os` (the built-in `open`) is noticed by an audit hook.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

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

Call: TypeAlias = tuple[str, tuple[Any, ...], dict[str, Any]]
Calls: TypeAlias = Sequence[tuple[object, str]]
"""Who has a function, and what it is called there."""


@contextmanager
def intercepted(
    before: Callable[[Call], None] | None = None,
    after: Callable[[Call, Any], None] | None = None,
    also: Calls = (),
) -> Iterator[None]:
    """Run `before` (and `after`, with the result) around every changing call of `os`, and every call of `also`."""
    originals = [(owner, name, getattr(owner, name)) for owner, name in (*((os, name) for name in CHANGING), *also)]

    def wrap(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **options: Any) -> Any:
            if before is not None and not (name == "open" and not args[1] & WRITES):
                before((name, args, options))
            result = original(*args, **options)
            if after is not None:
                after((name, args, options), result)
            return result

        return wrapped

    for owner, name, original in originals:
        setattr(owner, name, wrap(name, original))
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def killed_at(point: int, scenario: Callable[[], object], also: Calls = ()) -> bool:
    """Run `scenario` in a child that kills itself just before its changing call number `point`.

    A write is two points: nothing written, half written. `also` are further calls that count. False when the scenario
    ended before that point.
    """
    return _in_a_child(lambda: _run_and_die(point, scenario, also)) is None


def count(scenario: Callable[[], object], also: Calls = ()) -> int:
    """Run `scenario` in a child to its end; how many points it has."""
    found = _in_a_child(lambda: _run_and_die(0, scenario, also))
    assert found is not None
    return found


def _in_a_child(work: Callable[[], int]) -> int | None:
    """What `work` returned in a forked child, or None where that was killed."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # must never return into pytest
        status = 1
        try:
            os.write(write, str(work()).encode())
            status = 0
        finally:
            if status:
                traceback.print_exc()
            os._exit(status)
    os.close(write)
    _, status = os.waitpid(child, 0)
    with os.fdopen(read) as result:
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL
            return None
        assert os.WEXITSTATUS(status) == 0, "the scenario failed by itself"
        return int(result.read())


def _run_and_die(point: int, scenario: Callable[[], object], also: Calls) -> int:
    passed = 0
    me = os.getpid()
    write, kill = os.write, os.kill

    def die_in_time(call: Call) -> None:
        nonlocal passed
        passed += 1
        if passed == point:
            kill(me, signal.SIGKILL)
        if call[0] == "write":
            passed += 1
            if passed == point:
                fd, content = call[1]
                write(fd, content[: len(content) // 2])
                kill(me, signal.SIGKILL)

    def notice(event: str, args: tuple[Any, ...]) -> None:
        # os.open has no mode, and is counted already.
        if event == "open" and args[1] is not None and isinstance(args[2], int) and args[2] & WRITES:
            die_in_time(("builtin open", args, {}))

    sys.addaudithook(notice)  # only a child may: it cannot be taken away again
    with intercepted(die_in_time, also=also):
        scenario()
    return passed


def points() -> Iterator[int]:
    """1, 2, 3, …; bounded, so that a test that never ends fails instead."""
    yield from range(1, 2000)
    raise AssertionError("more crash points than any operation of the store has")
