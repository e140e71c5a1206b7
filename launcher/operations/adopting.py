"""`adopt`: what runs and was started by others becomes a generation, without being touched."""

from __future__ import annotations

import os
import pwd
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from launcher.adopt import (
    Edited,
    Found,
    Left,
    choose,
    deployment_name,
    edited,
    find,
    names,
    of_script,
    plan_of,
    settings,
    unwritable,
)
from launcher.adopt.script import Reading, read
from launcher.backends.adopted import adopted
from launcher.backends.processes import Proc, look
from launcher.errors import InputError
from launcher.knobs import EngineKnobs, Unknown, find_env
from launcher.observe.machine import has_systemd
from launcher.operations.adopted_engine import AdoptedEngine, engine_of
from launcher.operations.adopted_profile import AdoptedProfile, make_profile, write_profile
from launcher.operations.adopted_writing import Keeping, keep
from launcher.operations.handover import ADOPTED
from launcher.operations.locking import lock_path
from launcher.plan import Plan
from launcher.plan.model import BackendName
from launcher.store import Store, deployments, layout, who
from launcher.store.names import require_name

_NAMESPACE = ("SGLANG_", "SGL_")


@dataclass(frozen=True, slots=True)
class AdoptedServer:
    """One server that was taken over."""

    name: str
    found: Found
    edited: Edited | None
    left: tuple[Left, ...]
    """What the profile does not say."""
    unread: tuple[str, ...]
    """Variables of the engine's own namespace that nothing in it reads."""


@dataclass(frozen=True, slots=True)
class Adopting:
    """What was adopted, or would be."""

    deployment: str
    called: str | None
    generation: int | None
    """None where nothing was recorded: a dry run."""
    servers: tuple[AdoptedServer, ...]
    engine: AdoptedEngine
    plan: Plan
    secrets: Mapping[str, Mapping[str, str]]
    """Service to flag or variable to the file that its value is kept in."""
    profile: AdoptedProfile
    lock: Path | None
    """The profile's lock, written beside it; None where the checks refuse the profile, and for a dry run."""


def adopt(
    *,
    pids: Collection[int] = (),
    name: str | None = None,
    called: str | None = None,
    profile: Path | None = None,
    force: bool = False,
    dry_run: bool = False,
    why: str | None = None,
    proc: Path = Path("/proc"),
) -> Adopting:
    """Record the servers of `pids`, or of the only deployment that runs, as a generation called `called`.

    Nothing is restarted or changed but pdlaunch's own state and the profile beside (DEPLOYMENT.yaml here, unless
    `profile` says where). Raises InputError for what cannot be taken over and for a profile that would be overwritten,
    BusyError for what somebody holds.
    """
    if called is not None:
        require_name(called)
    group = _group(pids, proc)
    deployment = name or deployment_name(group)
    store = Store(layout(deployment))
    _require_new(store)
    path = (profile or Path(f"{deployment}.yaml")).absolute()
    accounts = _accounts(group)
    engine = engine_of(group, next(iter(accounts.values()), None))
    keeping = Keeping.of(store, group, accounts)
    plan = plan_of(deployment, group, keeping.files, engine=engine.use, accounts=accounts, backend=_backend())
    servers = tuple(_server(n, f, keeping.files.get(n, {}), engine) for n, f in zip(names(group), group, strict=True))
    made = make_profile(deployment, group, keeping.files, engine, plan, path)
    _require_free(made, force=force or dry_run)
    number = None
    if not dry_run:
        number = keep(store, keeping, plan, engine, made, called=called, by=who(), why=why)
    sound = number is not None and not any(p.severity == "error" for p in made.problems)
    lock = lock_path(made.path) if sound and lock_path(made.path).is_file() else None
    return Adopting(deployment, called, number, servers, engine, plan, keeping.files, made, lock)


def _backend() -> BackendName:
    """What starts it once it is handed over: what a profile that says nothing is started by."""
    return "systemd" if has_systemd() else "supervisord"


@dataclass(frozen=True, slots=True)
class ReadScript:
    """A script as far as it can be read without running it."""

    path: Path
    reading: Reading
    profile: AdoptedProfile | None
    """What its servers would be as a profile; None where that was not asked for."""
    servers: tuple[AdoptedServer, ...]


def read_script(
    path: Path, *, name: str | None = None, profile: Path | None = None, force: bool = False, dry_run: bool = False
) -> ReadScript:
    """Read a serve script without running it, and write its servers as `profile` where that is given.

    Raises InputError for a file that cannot be read or that bash would not take, and for a profile that would be
    overwritten or that no server of the script could fill.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}", hint=f"ls -l {path}") from None
    except UnicodeDecodeError:
        raise InputError(
            f"{path} is no text in UTF-8", hint="name the script, not the program that it starts"
        ) from None
    reading = read(text, str(path), environ={"HOME": str(Path.home())})
    if profile is None:
        return ReadScript(path, reading, None, ())
    group = tuple(of_script(command, str(path)) for command in reading.commands)
    if not group:
        raise InputError(f"{path} starts no server that can be read", hint=f"pdlaunch adopt --script {path}")
    deployment = name or deployment_name(group)
    target = profile.absolute()
    engine = engine_of(group, None)
    plan = plan_of(deployment, group, {}, engine=engine.use, accounts={}, backend=_backend())
    made = make_profile(deployment, group, {}, engine, plan, target)
    _require_free(made, force=force or dry_run)
    if not dry_run:
        write_profile(made)
    return ReadScript(
        path, reading, made, tuple(_server(n, f, {}, engine) for n, f in zip(names(group), group, strict=True))
    )


def _require_free(profile: AdoptedProfile, *, force: bool) -> None:
    """Raise InputError where another text than this lies at the profile's path."""
    if force or not profile.path.exists():
        return
    if not profile.path.is_file() or profile.path.read_bytes() != profile.text.encode():
        raise InputError(
            f"{profile.path} is there already", hint="name another with -o PROFILE, or --force overwrites it"
        )


def _group(pids: Collection[int], proc: Path) -> tuple[Found, ...]:
    """The servers that are meant; raises InputError saying why one cannot be taken over."""
    taken = _taken()
    found = find(proc=proc, taken=frozenset(p for p, _ in taken))
    if again := [pid for pid in pids if pid in {p for p, _ in taken}]:
        name = next(name for (p, name) in taken if p == again[0])
        raise InputError(f"pid {again[0]} is adopted already, as {name}", hint=f"pdlaunch status -d {name}")
    if not found and taken:
        name = taken[0][1]
        raise InputError(f"what runs here is adopted already, as {name}", hint=f"pdlaunch status -d {name}")
    group = choose(found, pids)
    if refused := [f for f in group if f.refused]:
        lines = [f"{f.role} :{f.port} (pid {f.process.pid}): {f.refused}" for f in refused]
        raise InputError("cannot be adopted: " + "; ".join(lines), hint=_way(refused[0]))
    return group


def _way(found: Found) -> str:
    if found.launch.container:
        return "run pdlaunch inside that container, or write a profile and start the servers outside of it"
    if os.geteuid() and found.details.uid != os.geteuid():
        return "sudo pdlaunch adopt reads the processes of other users"
    return "pdlaunch adopt --script FILE reads its script; write the profile from that, or adopt the others by pid"


def _taken() -> list[tuple[int, str]]:
    """Pid and deployment of every process that was adopted and still runs; an adoption that was killed is not done."""
    found = []
    for name in deployments():
        store = Store(layout(name))
        marked = adopted(store.layout.state)
        done = next((e for e in reversed(store.journal.events()) if e.what == ADOPTED), None) if marked else None
        pids = done.details.get("pids") if done else None
        if isinstance(pids, dict) and set(pids.values()) <= {pid for pid, _ in marked}:
            found += [(p.pid, name) for p in look(store.layout.state).values() if p.service is not None]
    return found


def _require_new(store: Store) -> None:
    """Raise InputError where a deployment of that name runs already."""
    name = store.layout.deployment
    marked = adopted(store.layout.state)
    every = [proc for procs in look(store.layout.state).services.values() for proc in procs]
    running: list[Proc] = [proc for proc in every if (proc.pid, proc.started) not in marked]
    if running:
        raise InputError(f"{name} runs already (pid {running[0].pid})", hint="give this one another name: --name NAME")


def _accounts(group: Sequence[Found]) -> Mapping[str, str | None]:
    """Service to the user that it runs as, None for who asks; raises InputError where that cannot be kept up."""
    result: dict[str, str | None] = {}
    for name, server in zip(names(group), group, strict=True):
        if server.details.uid == os.geteuid():
            result[name] = None
            continue
        if os.geteuid():
            raise InputError(f"{name} (pid {server.process.pid}) runs as another user", hint="sudo pdlaunch adopt")
        try:
            result[name] = pwd.getpwuid(server.details.uid).pw_name
        except KeyError:
            raise InputError(
                f"{name} (pid {server.process.pid}) runs as uid {server.details.uid}, which has no name here",
                hint="give that uid a name, then adopt again",
            ) from None
    return result


def _server(name: str, found: Found, files: Mapping[str, str], engine: AdoptedEngine) -> AdoptedServer:
    knobs = engine.router_knobs if found.role == "router" else engine.knobs
    said = settings(found, files, knobs)
    odd = [Left(variable, "not UTF-8: no file can hold it", "variable") for variable in unwritable(found)]
    return AdoptedServer(name, found, edited(found), (*said.left, *odd), tuple(_unread(said.env, engine.knobs)))


def _unread(names: Collection[str], knobs: EngineKnobs | None) -> Iterator[str]:
    for name in names if knobs and knobs.whole else ():
        knob = find_env(knobs, name) if knobs and name.startswith(_NAMESPACE) else None
        if isinstance(knob, Unknown) or (knob is not None and not knob.read):
            yield name
