"""A numbered, immutable folder that holds everything needed to start a deployment again."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from launcher import __version__
from launcher.errors import PdlaunchError
from launcher.frozen import Frozen
from launcher.misfits import first_of
from launcher.plan.model import Plan
from launcher.render.layout import Layout

if TYPE_CHECKING:
    from launcher.lock import Lock

FORMAT = 1
"""Of the folder as a whole; a higher one was written by a newer pdlaunch."""
PROFILE, PLAN, ABOUT, SEAL, ENGINE = "profile.yaml", "plan.json", "about.json", "manifest.json", "engine"
LOCK = "lock.yaml"
OWN_NAMES = frozenset({PROFILE, PLAN, ABOUT, SEAL, ENGINE, LOCK})
"""Names in a generation's folder that no rendered file may take."""

Section = TypeVar("Section", bound=Frozen)


class About(Frozen):
    """Who wrote a generation, when, why and from what."""

    format: int = FORMAT
    number: int
    written: dt.datetime
    by: str
    why: str | None
    source: str | None
    """The profile's path, or whatever else it was made from."""
    pdlaunch: str
    """The version that wrote it."""


class Seal(Frozen):
    """What the generation holds, as it was written."""

    format: int = FORMAT
    files: Mapping[str, str]
    """SHA-256 of every file but this one."""
    engine: str | None
    """Digest of the engine snapshot."""
    services: Mapping[str, str]
    """Digest of each service; see `launcher.store.identity`."""
    digest: str
    """Over the deployment as a whole."""


class Generation:
    """One generation; its sections are read when they are asked for.

    Each raises PdlaunchError, naming the generation and the section, when that is missing, cut short or edited.
    """

    def __init__(self, layout: Layout, number: int) -> None:
        self.number = number
        self.path = layout.generation(number)

    def __repr__(self) -> str:
        return f"Generation({self.number})"

    @cached_property
    def about(self) -> About:
        """Who, when, why."""
        return self._load(ABOUT, About)

    @cached_property
    def seal(self) -> Seal:
        """Hashes of the files, digests of the services, the engine snapshot."""
        return self._load(SEAL, Seal)

    @cached_property
    def plan(self) -> Plan:
        """The plan as it was recorded."""
        return self._load(PLAN, Plan)

    @cached_property
    def profile(self) -> bytes:
        """The profile as it was written, to the byte."""
        return self._read(PROFILE)

    @cached_property
    def lock(self) -> Lock | None:
        """The lock as it was written before the first start; None for a generation that was made without one."""
        if LOCK not in self.seal.files:
            return None
        from launcher.lock import from_yaml  # YAML is read only for who asks

        content = self._read(LOCK)
        if hashlib.sha256(content).hexdigest() != self.seal.files[LOCK]:
            raise self._damaged(LOCK, "was cut short or edited")
        return from_yaml(content.decode(), self.path / LOCK)

    def _load(self, name: str, model: type[Section]) -> Section:
        content = self._read(name)
        if name != SEAL and hashlib.sha256(content).hexdigest() != self.seal.files.get(name):
            raise self._damaged(name, "was cut short or edited")
        if _newer(content):
            raise self._foreign(name, "a newer pdlaunch")
        try:
            return model.model_validate_json(content)
        except ValidationError as error:
            if name == PLAN:  # as it was written: its hash says so
                raise self._foreign(name, f"pdlaunch {self.about.pdlaunch}") from error
            raise self._damaged(name, f"cannot be read: {first_of(error)}") from error

    def _read(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            raise self._damaged(name, "is gone") from None
        except OSError as error:
            raise self._damaged(name, f"cannot be read: {error.strerror}") from error

    def _foreign(self, name: str, writer: str) -> PdlaunchError:
        return PdlaunchError(
            f"generation {self.number} was written by {writer}; {__version__} cannot read its {name}",
            hint="install the version that wrote it; its scripts run without pdlaunch",
        )

    def _damaged(self, name: str, what: str) -> PdlaunchError:
        return PdlaunchError(
            f"generation {self.number}: {name} {what} ({self.path / name})",
            hint="the others are whole: pdlaunch history; pdlaunch rollback --to NUMBER",
        )


def _newer(content: bytes) -> bool:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return False
    form = document.get("format") if isinstance(document, dict) else None
    return isinstance(form, int) and form > FORMAT
