"""Which deployment the command under way is about: hints name it, so that they work beside others."""

from __future__ import annotations

from contextvars import ContextVar

_NAME: ContextVar[str | None] = ContextVar("deployment", default=None)


def is_about(deployment: str | None) -> None:
    """Say which one; None at the beginning of a command line."""
    _NAME.set(deployment)


def subject() -> str | None:
    """The deployment, or None where the command is about none, or about several."""
    return _NAME.get()
