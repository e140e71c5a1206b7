"""Ctrl-C and SIGTERM end an operation in order; a lost terminal does not end it at all."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupted(BaseException):
    """Somebody asked the operation to stop."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Within the block SIGINT and SIGTERM raise Interrupted once; SIGHUP is ignored.

    An operator whose connection breaks wants the deployment up, so that a lost terminal only silences the messages.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    # A second one while the first is being cleaned up would leave half of it: it is not listened to.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Interrupted
