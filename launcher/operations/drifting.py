"""What runs against what was recorded: the processes, their files, the servers' own answers, the checkout."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from launcher.compare.drift import Expected, Finding, deviations, port_findings
from launcher.observe.live import LiveService, live
from launcher.operations.driving import backend_of
from launcher.plan import DIGEST, Plan, Service
from launcher.store import Generation, Store

_PATIENCE = 8.0
"""Seconds for the driver to describe its cards."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The processes of a deployment, and how they differ from what they were started as."""

    services: Mapping[str, LiveService]
    findings: tuple[Finding, ...]
    generations: Mapping[str, Generation]
    """What each service runs, where some generation has recorded that."""

    @property
    def alarms(self) -> tuple[Finding, ...]:
        """What was not recorded so."""
        return tuple(finding for finding in self.findings if finding.alarm)


def drift(store: Store) -> tuple[str, ...]:
    """What of the running deployment is not as it was recorded, a line each; read from the processes alone.

    Raises PdlaunchError where the current generation is damaged.
    """
    return tuple(map(str, processes(store).alarms))


def processes(store: Store) -> Seen:
    """The processes against the generations that they were started as; no server is asked."""
    number = store.current()
    services = live(store.layout.state)
    if number is None:
        return Seen(services, (), {})
    current = store.generation(number)
    wanted = {service.name: service for service in current.plan.services}
    findings: list[Finding] = []
    started: dict[str, Generation] = {}
    for name in dict.fromkeys((*wanted, *services)):
        now = services.get(name)
        if now is None:
            findings.append(Finding("missing", name, f"generation {number} has it"))
            continue
        if now.adopted:
            # The very process that the generation was recorded of: what it was started with cannot have changed.
            started[name] = _adopted_as(store, now) or current
            findings += _origin(now, started[name], current)
            continue
        source = _started_as(store, current, now)
        findings += _origin(now, source, current)
        if source:
            started[name] = source
        service = (source or current).plan.service(name)
        if service:
            findings += deviations(_expected(service, store, now), now)
            findings += _script(source or current, now)
    for name, lines in _overrides(current, store).items():
        findings += (Finding("changed", name, line) for line in lines)
    return Seen(services, tuple(findings), started)


def look_closer(seen: Seen, store: Store) -> Seen:
    """The same with what takes longer: ports, loaded libraries, recorded files, and the servers' own answers."""
    number = store.current()
    if number is None:
        return seen
    plan = store.generation(number).plan
    found = [*seen.findings, *_ports(plan.services, seen), *_libraries(seen), *_damage(seen, store, number)]
    told = {finding.service + finding.subject for finding in found}
    found += [finding for finding in _answers(seen) if finding.service + finding.subject not in told]
    found += _packages(plan, seen)
    found += _cards(plan.services, seen, store)
    return Seen(seen.services, tuple(found), seen.generations)


def _started_as(store: Store, current: Generation, now: LiveService) -> Generation | None:
    """The generation whose service the main process was started as: the current one, else the newest."""
    digest = (now.main.environ or {}).get(DIGEST)
    if digest is None:
        return None
    if _has(current, now.name, digest):
        return current
    text = digest.encode()
    for generation in reversed(store.generations()):
        # Among a thousand plans the digest's text finds the few that are worth parsing.
        if text in _bytes(generation.path / "plan.json") and _has(generation, now.name, digest):
            return generation
    return None


def _adopted_as(store: Store, now: LiveService) -> Generation | None:
    """The newest generation that was recorded of this process."""
    from launcher.adopt.record import NAME, Adoption

    for generation in reversed(store.generations()):
        if NAME in generation.seal.files:
            recorded = Adoption.model_validate_json((generation.path / NAME).read_bytes()).services.get(now.name)
            if recorded and (recorded.pid, recorded.started) == (now.main.proc.pid, now.main.proc.started):
                return generation
    return None


def _has(generation: Generation, name: str, digest: str) -> bool:
    service = generation.plan.service(name)
    return service is not None and service.digest() == digest


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _origin(now: LiveService, source: Generation | None, current: Generation) -> Iterator[Finding]:
    pid = now.main.proc.pid
    if source is None:
        yield Finding("unrecorded", now.name, f"compared with generation {current.number}", pid=pid)
    elif source.number != current.number:
        yield Finding("pending", now.name, f"runs generation {source.number}, recorded is {current.number}", pid=pid)


def _expected(service: Service, store: Store, now: LiveService) -> Expected:
    return Expected(
        service=service,
        environ={variable.name: store.layout.value(variable) for variable in service.env},
        secrets={secret.name: _secret(secret.file) for secret in service.secrets},
        executable=_program(service, now) or now.main.executable or "",
    )


def _program(service: Service, now: LiveService) -> str | None:
    """The file that the first word of the command means: to the process itself, wherever this command was typed."""
    word = service.words()[0]
    if "/" not in word:
        path = (now.main.environ or {}).get("PATH")
        found = shutil.which(word, path=path) if path else None
        return os.path.realpath(found) if found else None
    try:
        return os.path.realpath(Path(f"/proc/{now.main.proc.pid}/cwd").readlink() / word)
    except OSError:  # another user's, or gone
        return os.path.realpath(word) if word.startswith("/") else None


def _secret(file: str) -> str | None:
    """As the serve script reads it: bash drops the line breaks at the end and every NUL."""
    try:
        content = Path(file).read_bytes()
    except OSError:
        return None
    return os.fsdecode(content.replace(b"\0", b"")).rstrip("\n")


def _script(generation: Generation, now: LiveService) -> Iterator[Finding]:
    """A script that was edited runs from the next start on, or has run already."""
    name = _script_name(now.name)
    path, recorded = generation.path / name, generation.seal.files.get(name)
    if recorded is None or hashlib.sha256(_bytes(path)).hexdigest() == recorded:
        return
    if not path.exists():
        yield Finding("changed", now.name, f"{path} is gone")
        return
    later = path.stat().st_mtime > now.main.proc.created
    effect = "after the start: in effect from the next one" if later else "before the start"
    yield Finding("changed", now.name, f"{path} was edited {effect}")


def _overrides(current: Generation, store: Store) -> Mapping[str, tuple[str, ...]]:
    """What the backend has in force beside what was recorded."""
    plan = current.plan
    return {} if store.pending() else backend_of(plan, store.layout).overrides(current.path)


def _script_name(service: str) -> str:
    return f"{service}.sh"


def _ports(services: tuple[Service, ...], seen: Seen) -> Iterator[Finding]:
    from launcher.observe.live_files import listening
    from launcher.observe.sockets import listeners

    holders = listeners([port for service in services for port in service.ports.values()])
    own = {name: listening(now.processes) for name, now in seen.services.items()}
    yield from port_findings(services, holders, seen.services, own)


def _packages(plan: Plan, seen: Seen) -> Iterator[Finding]:
    """Code newer than its process: what was installed beside the engine after the start."""
    from launcher.operations.newer_packages import newer_packages

    started = {name: now.main.proc.created for name, now in seen.services.items()}
    for name, newer in newer_packages(plan, started):
        yield Finding("changed", name, f"{newer} came after its start: it runs what was there before")


def _cards(services: tuple[Service, ...], seen: Seen, store: Store) -> Iterator[Finding]:
    """What the driver says of the cards that these services use; it is asked only where some do."""
    if not any(service.gpus for service in services):
        return
    from launcher.compare.card_drift import card_findings
    from launcher.observe.cards import cards
    from launcher.observe.running import command_of
    from launcher.operations.receipts import read_receipt  # a closer look alone asks for it

    number = max((g.number for g in seen.generations.values()), default=store.current() or 0)
    receipt = read_receipt(store, number)
    recorded = {gpu.index: gpu for gpu in receipt.machine.gpus} if receipt else {}
    pids = {name: [process.proc.pid for process in now.processes] for name, now in seen.services.items()}
    yield from card_findings(services, cards(patience=_PATIENCE), pids, recorded, command_of)


def _libraries(seen: Seen) -> Iterator[Finding]:
    from launcher.observe.live_files import replaced

    for name, now in seen.services.items():
        paths = {path: process.proc.pid for process in reversed(now.processes) for path in replaced(process)}
        for path, pid in sorted(paths.items()):
            yield Finding("changed", name, f"{path} was replaced after it was loaded", pid=pid)


def _damage(seen: Seen, store: Store, current: int) -> Iterator[Finding]:
    """What of the generations that run is no longer as it was written: code newer than its process."""
    told = {_script_name(name) for name in seen.services}
    for number in sorted({current, *(g.number for g in seen.generations.values())}):
        for line in store.verify(number):
            if told.isdisjoint(line.split()):
                yield Finding("changed", "files", line)


def _answers(seen: Seen) -> Iterator[Finding]:
    """What the servers say of themselves, asked side by side."""
    from launcher.compare.resolved import resolved
    from launcher.observe.http import Endpoint
    from launcher.observe.live_server import ServerInfo, server_info

    plans = {name: generation.plan.service(name) for name, generation in seen.generations.items()}
    servers = [service for service in plans.values() if service and service.role != "router"]

    def ask(service: Service) -> ServerInfo | None:
        secrets = [v for s in service.secrets if (v := _secret(s.file))]
        return server_info(Endpoint(service.host, service.ports["http"]), secrets)

    with ThreadPoolExecutor(8) as pool:
        for service, info in zip(servers, pool.map(ask, servers), strict=True):
            if info is None:
                yield Finding("unchecked", service.name, "its own answer: /server_info gives none")
            else:
                yield from resolved(service, info, seen.services[service.name].main.environ)
