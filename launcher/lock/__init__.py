"""The lock: what starts, recorded so that a person can read it, git can diff it and another machine agrees."""

from launcher.lock.file import document, from_yaml, to_yaml
from launcher.lock.making import Read, bundle_digests, intent_of, lock_of, plan_of
from launcher.lock.model import SCHEMA, About, Intent, Lock
from launcher.lock.reading import read_lock

__all__ = [
    "SCHEMA",
    "About",
    "Intent",
    "Lock",
    "Read",
    "bundle_digests",
    "document",
    "from_yaml",
    "intent_of",
    "lock_of",
    "plan_of",
    "read_lock",
    "to_yaml",
]
