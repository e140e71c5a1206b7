"""Keeping an adoption: secrets, generation, marks, pointer, name; killed in between, the same again completes it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pwd
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from launcher.adopt import (
    AdoptedService,
    Adoption,
    Found,
    OldFile,
    OldUnit,
    names,
    secrets_by_service,
)
from launcher.adopt.record import NAME
from launcher.adopt.secrets import cut
from launcher.adopt.systemctl import is_enabled
from launcher.backends.adopted import NAME as MARKS
from launcher.backends.adopted import Adopted
from launcher.engines.manifest import Manifest
from launcher.engines.snapshot import read_manifest
from launcher.errors import BusyError, InputError, PdlaunchError
from launcher.lock import intent_of, lock_of, to_yaml
from launcher.operations.adopted_engine import AdoptedEngine
from launcher.operations.adopted_profile import AdoptedProfile, write_profile
from launcher.operations.engine_reading import with_edits
from launcher.operations.handover import ADOPTED
from launcher.operations.locking import lock_profile
from launcher.operations.noting import settle
from launcher.operations.presence import hold_is_alive
from launcher.operations.sealing import take_snapshot
from launcher.plan import Plan
from launcher.render import Bundle, RenderedFile, render
from launcher.store import About, Event, Store, claim, give_name, named, plan_digest, release, resources, writer
from launcher.store.files import in_words, make_folder, replace, sync_folder, write
from launcher.store.process import boot_id


@dataclass(frozen=True, slots=True)
class Keeping:
    """What is to be kept of a group of servers beside their plan."""

    group: Sequence[Found]
    files: Mapping[str, Mapping[str, str]]
    """Service to flag or variable to the file of its secret."""
    contents: Mapping[str, tuple[str, int]]
    """Secret file to its value and the uid that reads it."""

    @classmethod
    def of(cls, store: Store, group: Sequence[Found], accounts: Mapping[str, str | None]) -> Keeping:
        """Decide where each secret goes; nothing is written. A file of another value keeps its name."""
        folder = store.layout.state / "secrets"
        files: dict[str, dict[str, str]] = {}
        contents: dict[str, tuple[str, int]] = {}
        for service, secrets in secrets_by_service(group).items():
            account = accounts.get(service)
            uid = pwd.getpwnam(account).pw_uid if account else os.geteuid()
            for name, value in {**secrets.variables, **secrets.flags}.items():
                file = _free(folder, name.lstrip("-"), service, value, uid, contents)
                contents[file] = (value, uid)
                files.setdefault(service, {})[name] = file
        return cls(group, files, contents)


def _free(folder: Path, name: str, service: str, value: str, uid: int, taken: Mapping[str, tuple[str, int]]) -> str:
    candidates = [name, f"{service}.{name}", *(f"{service}.{name}.{n}" for n in range(2, 1000))]
    for candidate in candidates:
        path = folder / candidate
        known = taken.get(str(path)) or _present(path)
        if known in (None, (value, uid)):
            return str(path)
    raise PdlaunchError(
        f"{folder} holds a thousand values of {name}", hint=f"remove those that no generation names: ls {folder}"
    )


def _present(path: Path) -> tuple[str, int] | None:
    try:
        return path.read_text(errors="surrogateescape"), path.stat().st_uid
    except FileNotFoundError:
        return None
    except OSError:
        return "", -1


def keep(
    store: Store,
    keeping: Keeping,
    plan: Plan,
    engine: AdoptedEngine,
    profile: AdoptedProfile,
    *,
    called: str | None,
    by: str,
    why: str | None,
) -> int:
    """Write it all and return the generation's number; no process is touched.

    Raises BusyError for what somebody holds, InputError for a name that is taken, PdlaunchError for what cannot be
    written; what was claimed is then given back.
    """
    place = store.layout
    marks = place.state / MARKS
    with writer(place, "adopt", by, why):
        store.recover(by=by)
        settle(store, by=by)
        claim(place, resources(plan), by=by, why=why, is_alive=hold_is_alive)
        try:
            _require_same(keeping.group)
            _require_unused(store, called)
            # First the marks: from the generation on, `status` has to see what runs.
            _mark(store, keeping.group)
            number = _commit(store, keeping, plan, engine, profile, by=by, why=why)
            if called is not None:
                give_name(store, called, number, by=by, why=why)
        except BaseException:  # an interruption too: nothing may stay claimed for what was not recorded
            marks.unlink(missing_ok=True)
            release(place)
            raise
        store.set_current(number, by=by, why=why)
        write_profile(profile)
        _lock(profile, why=why)
        # Last the note that it is done: without it the same command does it again.
        pids: dict[str, JsonValue] = {
            n: f.process.pid for n, f in zip(names(keeping.group), keeping.group, strict=True)
        }
        store.journal.append(Event(what=ADOPTED, by=by, why=why, generation=number, details={"pids": pids}))
    return number


def _lock(profile: AdoptedProfile, *, why: str | None) -> None:
    """Write the profile's lock beside it, where it can be started at all; what hinders it is for `lock` to say."""
    with contextlib.suppress(InputError):
        lock_profile(profile.path, why=why)


def _require_same(group: Sequence[Found]) -> None:
    """Raise BusyError for a process that ended while it was read."""
    for server in group:
        if server.process.pid and not Path(f"/proc/{server.process.pid}").exists():
            raise BusyError(f"pid {server.process.pid} has ended meanwhile", hint="pdlaunch adopt again")


def _require_unused(store: Store, called: str | None) -> None:
    """Raise InputError for a name that another generation has; an adoption that was killed may have given it."""
    done = {event.generation for event in store.journal.events() if event.what in ("current", ADOPTED)}
    before = named(store).get(called) if called is not None else None
    if before in done and before != max(store.numbers()):
        raise InputError(
            f"generation {before} of {store.layout.deployment} is called {called!r} already",
            hint="name this one otherwise with --as",
        )


def _commit(
    store: Store,
    keeping: Keeping,
    plan: Plan,
    engine: AdoptedEngine,
    profile: AdoptedProfile,
    *,
    by: str,
    why: str | None,
) -> int:
    _keep_secrets(store, keeping)
    taken = take_snapshot(engine.roots, store)
    digest = taken.digest if taken else None
    tree: Manifest | None = read_manifest(store.layout.engines, digest) if digest else None
    plan = plan.model_copy(update={"engine": plan.engine.model_copy(update={"snapshot": digest})})
    if same := _recorded(store, plan, digest):
        return same
    intent = intent_of(plan, None, with_edits(engine.read, tree, dict(engine.roots)))
    source = str(profile.path)

    def lock(about: About) -> str:
        at = about.written.replace(microsecond=0)
        return to_yaml(lock_of(intent, plan, by=by, written=at, why=why, generation=about.number, source=source))

    bundle = Bundle({**render(plan, store.layout).files, **_record(keeping)})
    text = profile.text.encode()
    return store.commit(text, plan, bundle, snapshot_digest=digest, by=by, why=why, source=source, lock=lock).number


def _recorded(store: Store, plan: Plan, digest: str | None) -> int | None:
    """The generation that an adoption, killed before its end, had written already."""
    last = max(store.numbers(), default=None)
    done = {event.generation for event in store.journal.events() if event.what == ADOPTED}
    if last is None or last in done or store.verify(last):
        return None
    return last if store.generation(last).seal.digest == plan_digest(plan, digest) else None


def _keep_secrets(store: Store, keeping: Keeping) -> None:
    folder = store.layout.state / "secrets"
    missing = {file: content for file, content in keeping.contents.items() if not Path(file).exists()}
    if not missing:
        return
    with in_words("keep the secrets", folder):
        make_folder(folder)
        folder.chmod(0o711)
        for file, (value, uid) in missing.items():
            # Its name comes last: a file that is there is whole and belongs to whom it should.
            temporary = Path(f"{file}.tmp")
            temporary.unlink(missing_ok=True)
            write(temporary, value.encode(errors="surrogateescape"), 0o600)
            if uid != os.geteuid():
                os.chown(temporary, uid, -1)
            temporary.rename(file)
        sync_folder(folder)


def _record(keeping: Keeping) -> Mapping[str, RenderedFile]:
    """``adopted.json`` and the old scripts and units, secrets cut out of them."""
    kept = {value: file for file, (value, _) in keeping.contents.items()}
    paths = {
        s: None for f in keeping.group for s in (f.launch.script, f.launch.unit.file if f.launch.unit else None) if s
    }
    rendered: dict[str, RenderedFile] = {}
    files: list[OldFile] = []
    for path in paths:
        try:
            content = Path(path).read_bytes()
        except OSError:
            continue
        own = f"adopted/{len(files)}-{Path(path).name}"
        rendered[own] = RenderedFile(cut(content.decode(errors="replace"), kept))
        files.append(OldFile(path=path, copy_name=own, sha256=hashlib.sha256(content).hexdigest()))
    adoption = Adoption(
        boot=boot_id(),
        services={n: _service(f) for n, f in zip(names(keeping.group), keeping.group, strict=True)},
        files=tuple(files),
        secrets=keeping.files,
    )
    return {**rendered, NAME: RenderedFile(adoption.model_dump_json(indent=1) + "\n")}


def _service(found: Found) -> AdoptedService:
    unit = found.launch.unit
    old = OldUnit(name=unit.name, user=unit.user, file=unit.file, enabled=is_enabled(unit)) if unit else None
    return AdoptedService(
        pid=found.process.pid,
        started=found.process.started,
        born=found.born,
        tree=tuple((p.pid, p.started) for p in found.tree),
        how=found.launch.how,
        unit=old,
        script=found.launch.script,
        exe=found.details.exe,
        cwd=found.details.cwd,
        output=found.details.output,
    )


def _mark(store: Store, group: Sequence[Found]) -> None:
    trees = {
        name: tuple((p.pid, p.started) for p in server.tree) for name, server in zip(names(group), group, strict=True)
    }
    with in_words("note which processes were adopted", store.layout.state):
        replace(store.layout.state / MARKS, Adopted(boot=boot_id(), services=trees).model_dump_json().encode())
