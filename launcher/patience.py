"""A word to whoever waits: what takes longer than a second says what it is, once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SILENT = 1.0
"""Seconds that may pass without a word."""
_listeners: list[Callable[[str], None]] = []


@contextmanager
def listening(tell: Callable[[str], None]) -> Iterator[None]:
    """Let `tell` have the word of what takes long meanwhile; without a listener nothing is said."""
    _listeners.append(tell)
    try:
        yield
    finally:
        _listeners.remove(tell)


@contextmanager
def patience(text: str, after: float = SILENT) -> Iterator[None]:
    """Say `text` to who listens if what is done meanwhile takes longer than `after` seconds."""
    timers = [threading.Timer(after, tell, (text,)) for tell in _listeners[-1:]]
    for timer in timers:
        timer.daemon = True  # a command that ends is not held up by a word that nobody needs any more
        timer.start()
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()
