"""Reads serve scripts without running them: what they start, with which variables, and what only a run would tell."""

from launcher.adopt.script.reading import Command, Reading, read
from launcher.adopt.script.scope import Unread
from launcher.adopt.script.words import ScriptError

__all__ = ["Command", "Reading", "ScriptError", "Unread", "read"]
