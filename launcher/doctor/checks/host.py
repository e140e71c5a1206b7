"""DR401-DR405: what the operating system gives to the services: ports, limits, shared memory, disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from launcher.doctor.check import Check, always, with_a_plan, with_an_engine
from launcher.doctor.facts import Facts, Ports
from launcher.doctor.finding import Finding
from launcher.doctor.words import person, size
from launcher.observe.limits import UNLIMITED, Limits
from launcher.observe.sockets import Listener

_ENOUGH_LOCKED = 512 << 20
"""Bytes, below which UCX switches transports off: https://github.com/openucx/ucx/pull/8085."""
_ENOUGH_FILES = 65535
"""What SGLang raises itself to (0.5.23, srt/utils/common.py, set_ulimit)."""
_FEW_FILES = 8192
_SHM = "/dev/shm"  # noqa: S108  named, not used
_ENOUGH_SHARED = 1 << 30
_LEAST, _COMFORT, _KERNELS = 256 << 20, 2 << 30, 5 << 30
"""Bytes: a copy of the engine's source and the log of a start; a few of them; compiled kernels of one engine."""


def ports(facts: Facts) -> Iterator[Finding]:
    """Every port of the plan is free, or held by its own service, and nobody is given it by chance."""
    if facts.ports is None or facts.plan is None:
        return
    uses = {port: (s.name, use) for s in facts.plan.services for use, port in s.ports.items()}
    taken = [held for held in facts.ports.held.values() if held.pid is None or held.pid not in facts.ours]
    yield from _taken(taken, uses, facts.ports)
    fine = not taken
    low, high = facts.ports.ephemeral
    drawn = sorted(port for port in uses if low <= port <= high and port not in facts.ports.kept)
    if drawn:
        fine = False
        listed = ",".join(map(str, drawn))
        text = f"ports {listed} lie in {low}-{high}, from which the kernel gives to any connection: taken by chance"
        fix = f"sudo sysctl -w net.ipv4.ip_local_reserved_ports={listed}     or ports outside of that range"
        yield Finding("warning", "DR401", text, fix)
    if fine:
        mine = " or this deployment's own" if facts.ours else ""
        yield Finding("ok", "DR401", f"{len(uses)} ports are free{mine}, outside the ephemeral range {low}-{high}")


def _taken(found: Iterable[Listener], uses: Mapping[int, tuple[str, str]], ports: Ports) -> Iterator[Finding]:
    """One finding for each that holds ports of ours: a deployment, a process, or who cannot be seen."""
    groups: dict[str, list[Listener]] = {}
    for held in sorted(found, key=lambda held: held.port):
        owner = ports.owners.get(held.pid or 0)
        groups.setdefault((owner and owner.deployment) or str(held.pid), []).append(held)
    for group in groups.values():
        wanted = ", ".join(f"{h.port} ({' '.join(uses.get(h.port, ('beside', 'a server')))})" for h in group)
        first = group[0]
        owner = ports.owners.get(first.pid or 0)
        text = f"port{'s' if len(group) > 1 else ''} {wanted}: taken by "
        if owner and owner.deployment:
            text, fix = f"{text}deployment {owner.deployment}, {person(owner)}", f"pdlaunch down -d {owner.deployment}"
        elif first.pid:
            text, fix = f"{text}{person(owner) if owner else first.command}", f"kill {first.pid}"
        else:
            yield Finding("blocker", "DR401", f"{text}{first.command}", f"sudo ss -ltnp 'sport = :{first.port}'")
            continue
        yield Finding("blocker", "DR401", text, f"{fix}     or write other ports in the profile")


def limits(facts: Facts) -> Iterator[Finding]:
    """Services may pin enough memory and open enough files, whoever starts them."""
    if facts.shell is None:
        return
    systemd = facts.plan is not None and facts.plan.backend == "systemd"
    if systemd and facts.root:
        yield Finding("ok", "DR402", f"the units ask for what they need (this shell: {_said(facts.shell)})")
        return
    source = facts.daemon or facts.shell
    whose = "the running supervisord" if facts.daemon else "the user's manager" if systemd else "from this shell"
    locked = UNLIMITED if source.privileged else source.memlock[1]
    files = UNLIMITED if systemd else source.nofile[1]
    fine = True
    if locked != UNLIMITED and locked < _ENOUGH_LOCKED:
        fine = False
        text = f"services may pin {size(locked)} ({whose}): UCX switches transports off below {size(_ENOUGH_LOCKED)}"
        again = "as root, then `pdlaunch down` and `up`; docker run --ulimit memlock=-1"
        fix = "LimitMEMLOCK=infinity in a drop-in of user@.service" if systemd else f"ulimit -l unlimited {again}"
        yield Finding("warning", "DR402", text, fix)
    if files != UNLIMITED and files < _ENOUGH_FILES:
        fine = False
        text = f"services may open {files} files ({whose}): SGLang asks for {_ENOUGH_FILES}"
        again = f"as root, then `pdlaunch down` and `up`; docker run --ulimit nofile={_ENOUGH_FILES}"
        yield Finding("warning" if files < _FEW_FILES else "note", "DR402", text, f"ulimit -Hn {_ENOUGH_FILES} {again}")
    if fine:
        yield Finding("ok", "DR402", f"services get enough ({whose}): {_said(source)}")


def _said(found: Limits) -> str:
    locked = "unlimited" if found.memlock[1] == UNLIMITED else size(found.memlock[1])
    files = "unlimited" if found.nofile[1] == UNLIMITED else str(found.nofile[1])
    return f"memlock {locked}, open files {files}"


def shared_memory(facts: Facts) -> Iterator[Finding]:
    """There is shared memory to talk through."""
    if facts.shared is None:
        yield Finding("warning", "DR403", "there is no /dev/shm: NCCL and UCX have nothing to talk through")
        return
    several = any(len(server.gpus) > 1 for server in facts.servers)
    if facts.shared < _ENOUGH_SHARED and (several or facts.plan is None):
        text = f"{_SHM} has {size(facts.shared)}: NCCL and UCX need more between several cards"
        fix = "sudo mount -o remount,size=16G /dev/shm; in a container: --shm-size=16g or --ipc=host"
        yield Finding("warning", "DR403", text, fix)
    else:
        yield Finding("ok", "DR403", f"{_SHM} has {size(facts.shared)}")


def disk(facts: Facts) -> Iterator[Finding]:
    """There is room for generations, logs and compiled kernels."""
    fine = True
    needed = 0 if facts.kind == "simulator" else _LEAST
    kernels = _KERNELS if facts.kind == "sglang" else 0
    for purpose, least, comfortable in (("state", needed, _COMFORT), ("cache", 0, kernels)):
        found = facts.folders.get(purpose)
        if found is None:
            continue
        fix = f"df -h {found.path}; pdlaunch prune     removes generations that are old and unnamed"
        if found.readonly:
            fine = False
            yield Finding("blocker", "DR404", f"{found.path} lies on a disk that is read-only", "mount | grep ' ro,'")
        elif found.free < least:
            fine = False
            text = f"{size(found.free)} are free for {found.path}: the next generation needs up to {size(least)}"
            yield Finding("blocker", "DR404", text, fix)
        elif found.free < comfortable:
            fine = False
            yield Finding("warning", "DR404", f"{size(found.free)} are free for {found.path}: little for logs", fix)
    if fine and facts.folders:
        free = ", ".join(f"{size(folder.free)} for {purpose}" for purpose, folder in facts.folders.items())
        yield Finding("ok", "DR404", f"free: {free}")


def temporary(facts: Facts) -> Iterator[Finding]:
    """Programs may run from the services' temporary folder."""
    found = facts.folders.get("temporary")
    if found is None:
        return
    if found.noexec:
        text = f"nothing can be executed from {found.path}: SGLang's NUMA binding runs a wrapper from there"
        fix = f"sudo mount -o remount,exec {found.path}; or engine: {{env: {{SGLANG_AUTO_NUMA_BIND: false}}}}"
        binds = facts.kind == "sglang" and facts.nodes > 1
        yield Finding("blocker" if binds else "note", "DR405", text, fix)
    elif found.free < _LEAST:
        yield Finding("warning", "DR405", f"{size(found.free)} are free in {found.path}", f"du -sh {found.path}/*")
    else:
        yield Finding("ok", "DR405", f"programs run from {found.path}")


def _pins(facts: Facts) -> str | None:
    return "the simulator pins nothing" if facts.kind == "simulator" else None


CHECKS = (
    Check(
        "DR401",
        "every port is free, and outside the range that the kernel draws from",
        "https://docs.kernel.org/networking/ip-sysctl.html",
        ports,
        with_a_plan,
    ),
    Check(
        "DR402",
        "services may pin memory and open files",
        "https://github.com/openucx/ucx/pull/8085; systemd ignores limits.conf",
        limits,
        _pins,
    ),
    Check(
        "DR403",
        f"{_SHM} has room",
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#shared-memory",
        shared_memory,
        always,
    ),
    Check("DR404", "there is room on the disk", "measured: 132 MB a snapshot of SGLang", disk, always, before_up=True),
    Check(
        "DR405",
        "programs run from the temporary folder",
        "SGLang 0.5.23, srt/utils/numa_utils.py: numactl's wrapper is written there and executed",
        temporary,
        with_an_engine,
        before_up=True,
    ),
)
