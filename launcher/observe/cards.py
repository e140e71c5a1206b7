"""The NVIDIA cards of this machine, as the driver's own library (NVML) describes them now."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path

from launcher.observe.card import Absent, Card, CardProcess, Cards, Link, Pair
from launcher.observe.nvml_answer import answer

__all__ = ["Absent", "Card", "CardProcess", "Cards", "Link", "Pair", "cards"]

_READER = Path(__file__).with_name("nvml_reader.py")
_PATIENCE = 20.0
"""Seconds. Without the persistence daemon the driver wakes each card when it is asked: up to two seconds a card."""


def cards(*, patience: float = _PATIENCE, sys_folder: Path = Path("/sys")) -> Cards | Absent:
    """Ask NVML about every card; says why not where that fails. Never raises, and returns within `patience` seconds.

    The asking is done by a process of its own: a driver that hangs cannot be interrupted, so it is left behind.
    """
    command = [sys.executable, "-P", "-W", "ignore", str(_READER)]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
    except OSError as error:
        return Absent("failed", f"NVML cannot be asked: {sys.executable}: {error.strerror}")
    try:
        text, _ = process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        _leave(process)
        return Absent("hung", f"the NVIDIA driver does not answer: asked for {patience:g} s (pid {process.pid})")
    try:
        said = json.loads(text)
    except ValueError:
        return Absent("failed", f"asking NVML ended with exit status {process.returncode} and no answer")
    return answer(said, sys_folder)


def _leave(process: subprocess.Popen[bytes]) -> None:
    """Kill it and go on: while it is in the driver, it ends when the driver lets it."""
    process.kill()
    if process.stdout:
        process.stdout.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(0.2)
