"""A deployment's store: generations, the pointer to the current one, the journal, the operation under way."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable

from launcher import __version__
from launcher.errors import InputError, PdlaunchError
from launcher.plan.model import Plan
from launcher.render.bundle import Bundle
from launcher.render.layout import Layout
from launcher.store.commit import write_generation
from launcher.store.files import TEMPORARY, in_words, make_folder, remove, replace, write
from launcher.store.generation import About, Generation
from launcher.store.journal import Event, Journal, now
from launcher.store.pending import Pending, read_pending
from launcher.store.pointing import unjournalled
from launcher.store.process import this_process
from launcher.store.recovery import Recovery, recover
from launcher.store.removal import must_not_be_needed, remove_generation, remove_unused_snapshots
from launcher.store.verify import verify_generation

_ROOM = 32 * 1024
"""Bytes: the backend's files, the pointer and a few notes, each some kilobytes while it is replaced."""


class Store:
    """Reads need no lock. Everything that changes something is to be called inside `writer(layout, …)`.

    What the system refuses (no space, no permission) is a PdlaunchError, and the store is as it was before.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.journal = Journal(layout.state / "journal.jsonl")
        self._current = layout.state / "current"
        self._pending = layout.state / "pending.json"

    # Generations

    def numbers(self) -> tuple[int, ...]:
        """The numbers of all generations, lowest first."""
        if not self.layout.generations.is_dir():
            return ()
        names = (path.name for path in self.layout.generations.iterdir())
        return tuple(sorted(int(name) for name in names if name.isdecimal()))

    def generations(self) -> tuple[Generation, ...]:
        """All generations, lowest number first; nothing is read until it is asked for."""
        return tuple(Generation(self.layout, number) for number in self.numbers())

    def generation(self, number: int) -> Generation:
        """One generation; InputError, naming those that exist, when there is none of that number."""
        if not self.layout.generation(number).is_dir():
            present = self.numbers()
            some = f"there are {present[0]} to {present[-1]}" if present else "there is none yet"
            raise InputError(
                f"{self.layout.deployment} has no generation {number}: {some}",
                hint=f"pdlaunch history -d {self.layout.deployment}",
            )
        return Generation(self.layout, number)

    def next_number(self) -> int:
        """The next generation's number: above all that ever were, removed and unfinished ones too."""
        unfinished = (
            int(path.name.removesuffix(TEMPORARY))
            for path in self.layout.generations.glob(f"*{TEMPORARY}")
            if path.name.removesuffix(TEMPORARY).isdecimal()
        )
        recorded = (event.generation for event in self.journal.events() if event.generation is not None)
        return 1 + max((0, *self.numbers(), *unfinished, *recorded))

    def commit(
        self,
        profile_text: bytes,
        plan: Plan,
        bundle: Bundle,
        *,
        snapshot_digest: str | None,
        by: str,
        why: str | None = None,
        source: str | None = None,
        lock: Callable[[About], str] | None = None,
    ) -> Generation:
        """Write the next generation, `next_number()`, for good; nothing points to it yet.

        `lock` gives the text of its lock, once its number and time are known.

        Raises:
            PdlaunchError: no space, no permission, or no such snapshot; nothing was changed.
        """
        number = self.next_number()
        if snapshot_digest is not None and not (self.layout.engines / snapshot_digest).is_dir():
            raise PdlaunchError(f"there is no engine snapshot {snapshot_digest} in {self.layout.engines}")
        about = About(number=number, written=now(), by=by, why=why, source=source, pdlaunch=__version__)
        with in_words(f"write generation {number}", self.layout.state):
            make_folder(self.layout.generations)
            seal = write_generation(
                self.layout,
                about,
                profile=profile_text,
                plan=plan,
                bundle=bundle,
                snapshot=snapshot_digest,
                lock=lock,
            )
        self.journal.append(Event(what="committed", by=by, why=why, generation=number, details={"seal": seal}))
        return self.generation(number)

    def verify(self, number: int, *, deep: bool = False) -> list[str]:
        """What is wrong with a generation and its engine snapshot, one line each; empty when it is as written.

        `deep` reads every file of the snapshot, though neither its size nor its times changed.
        """
        cache = None if deep else self.layout.cache / f"hashes-{self.layout.deployment}.json"
        return verify_generation(self.layout, self.generation(number), self.journal.events(), cache)

    def remove(self, number: int, *, by: str, why: str | None = None) -> None:
        """Take a generation away for good; its number stays used.

        Raises:
            PdlaunchError: it is the current one, or part of the operation under way.
        """
        self.generation(number)
        pending = self.pending()
        ends = (pending.from_generation, pending.to_generation) if pending else ()
        must_not_be_needed(number, self.current(), ends)
        with in_words(f"remove generation {number}", self.layout.state):
            remove_generation(self.layout, self.journal, Event(what="removed", by=by, why=why, generation=number))

    def remove_unused_snapshots(self) -> tuple[str, ...]:
        """Delete the engine snapshots that no generation runs; their digests.

        Raises:
            PdlaunchError: an operation is under way, which may have taken one and not yet committed it; or a
                generation is damaged and does not say which one it runs.
        """
        if (pending := self.pending()) is not None:
            raise PdlaunchError(f"`{pending.operation}` by {pending.by} is not finished", hint="pdlaunch status")
        with in_words("remove unused engine snapshots", self.layout.state):
            return remove_unused_snapshots(self.layout, self.generations())

    # The pointer

    def events(self) -> tuple[Event, ...]:
        """The journal, with what the pointer alone tells: that somebody used a generation's `activate` meanwhile."""
        events = self.journal.events()
        pending = None
        with contextlib.suppress(PdlaunchError):  # whoever writes next will say that it was edited
            pending = self.pending()
        missing = unjournalled(self.layout, events, pending)
        return (*events, missing) if missing else events

    def current(self) -> int | None:
        """The generation that is meant to run, or None before the first.

        Raises:
            PdlaunchError: the pointer was edited into something that is no number.
        """
        try:
            text = self._current.read_text()
        except FileNotFoundError:
            return None
        if not text.strip().isdecimal():
            raise PdlaunchError(
                f"{self._current} holds no generation's number but {text[:40]!r}",
                hint=f"write one of these numbers into it: pdlaunch history -d {self.layout.deployment}",
            )
        return int(text)

    def set_current(self, number: int, *, by: str, why: str | None = None) -> None:
        """Point to a generation, for good, and journal it."""
        self.generation(number)
        with in_words(f"make generation {number} the current one", self.layout.state):
            replace(self._current, f"{number}\n".encode())
        self.journal.append(Event(what="current", by=by, why=why, generation=number))

    def require_room(self) -> None:
        """Raise PdlaunchError where there is no room for what going to another generation has to write."""
        with in_words("write down what is to be changed", self.layout.state):
            path = self.layout.state / f"room{TEMPORARY}"
            path.unlink(missing_ok=True)
            try:
                write(path, bytes(_ROOM), 0o600)
            finally:
                path.unlink(missing_ok=True)

    # The operation under way

    def pending(self) -> Pending | None:
        """The operation that was begun and not finished, or None."""
        return read_pending(self._pending)

    def begin(
        self, operation: str, *, from_generation: int | None, to_generation: int | None, by: str, why: str | None = None
    ) -> Pending:
        """Write down what is about to be done, before its first step.

        Raises:
            PdlaunchError: an earlier operation was not finished; continue or undo that first.
        """
        if (earlier := self.pending()) is not None:
            raise PdlaunchError(
                f"`{earlier.operation}` by {earlier.by} was not finished (step: {earlier.step})",
                hint=f"pdlaunch status -d {self.layout.deployment}",
            )
        started = Pending(
            id=uuid.uuid4().hex,
            operation=operation,
            from_generation=from_generation,
            to_generation=to_generation,
            step="begun",
            by=by,
            why=why,
            process=this_process(),
            since=now(),
        )
        with in_words(f"begin `{operation}`", self.layout.state):
            make_folder(self.layout.state)
            replace(self._pending, started.model_dump_json(indent=1).encode())
        return started

    def advance(self, step: str) -> None:
        """Write down the step that is about to be taken."""
        now_at = self._under_way().model_copy(update={"step": step, "process": this_process()})
        with in_words(f"note the step `{step}`", self.layout.state):
            replace(self._pending, now_at.model_dump_json(indent=1).encode())

    def finish(self, outcome: str, *, by: str | None = None, why: str | None = None, untouched: bool = False) -> None:
        """Journal how the operation ended (``done``, ``failed``, ``interrupted``) and forget it.

        `untouched` says that whatever served before serves on.
        """
        ended = self._under_way()
        self.journal.append(
            Event(
                what="finished",
                by=by or ended.by,
                why=why or ended.why,
                generation=ended.to_generation,
                details={
                    "operation": ended.operation,
                    "outcome": outcome,
                    "id": ended.id,
                    "from": ended.from_generation,
                    "began": ended.since.isoformat(),
                    **({"untouched": True} if untouched else {}),
                },
            )
        )
        with in_words(f"finish `{ended.operation}`", self.layout.state):
            remove(self._pending)

    def recover(self, *, by: str) -> Recovery:
        """Clean up what a killed process left, and say what it was in the middle of; safe to repeat."""
        with in_words("clean up after an interrupted command", self.layout.state):
            return recover(self.layout, self.journal, by)

    def _under_way(self) -> Pending:
        if (pending := self.pending()) is None:
            raise PdlaunchError("no operation is under way", hint=f"pdlaunch status -d {self.layout.deployment}")
        return pending
