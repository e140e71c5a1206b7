"""A running service against what was recorded of it. Pure: what was read comes in, findings come out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from launcher.observe.live import GONE, LiveProcess, LiveService
from launcher.observe.sockets import Listener
from launcher.plan.model import Service

Kind: TypeAlias = Literal[
    "changed", "pending", "unrecorded", "unsupervised", "twin", "foreign", "missing", "engine", "silent", "unchecked"
]
WORDS: Mapping[Kind, str] = {
    "changed": "changed outside pdlaunch",
    "pending": "running an older generation (pending restart)",
    "unrecorded": "started as something that no generation here has recorded",
    "unsupervised": "started by hand: nobody starts it again when it ends",
    "twin": "a twin started by hand beside the supervised one",
    "missing": "not running",
    "foreign": "a foreign process on our port or card",
    "engine": "set by the engine itself",
    "silent": "nobody listens",
    "unchecked": "not checked",
}
"""Each kind of finding in words."""
_KNOWN: frozenset[Kind] = frozenset({"engine", "silent", "unchecked"})
_ALWAYS_OPEN = frozenset({"http", "bootstrap", "metrics"})
"""Purposes of ports that a service listens on by itself; an NCCL port opens only with several ranks."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found of a running service."""

    kind: Kind
    service: str
    subject: str
    """``env NCCL_DEBUG``, ``port 31000``."""
    before: str | None = None
    """As recorded, or as asked for."""
    after: str | None = None
    """As it is."""
    pid: int | None = None
    """Of the service's process that it was found of."""

    @property
    def alarm(self) -> bool:
        """Whether something runs that was not recorded so; False for what is known or could not be seen."""
        return self.kind not in _KNOWN

    def __str__(self) -> str:
        who = f"{self.service} (pid {self.pid})  " if self.pid else f"{self.service}  " if self.service else ""
        if self.before is None and self.after is None:
            return f"{who}{self.subject}"
        return f"{who}{self.subject}  {_shown(self.before)} -> {_shown(self.after)}"


@dataclass(frozen=True, slots=True)
class Expected:
    """What a service was started as, with this machine's paths."""

    service: Service
    environ: Mapping[str, str]
    """Without its secrets."""
    secrets: Mapping[str, str | None]
    """What their files hold now; None for one that may not be read."""
    executable: str
    """The program's file, links followed."""


def deviations(expected: Expected, now: LiveService) -> tuple[Finding, ...]:
    """How the processes of a service differ from what it was started as."""
    main = now.main
    found = [*_command(expected, main), *_executable(expected, main), *_variables(expected, main)]
    if not now.supervised:
        found.append(Finding("unsupervised", now.name, "has no supervisor", pid=main.proc.pid))
    found += [Finding("twin", now.name, "carries its mark", pid=twin.pid) for twin in now.twins]
    return (*found, *_children(now))


def _command(expected: Expected, main: LiveProcess) -> Iterator[Finding]:
    name, pid, words = expected.service.name, main.proc.pid, completed(expected)
    if main.proc.cmdline == words:
        return
    if main.renamed and len(words) > 1:
        told = f"its command: it calls itself {main.renamed!r}; environment and executable were compared"
        yield Finding("unchecked", name, told, pid=pid)
        return
    size = len(expected.service.argv[0].words)
    old, new = flags(without_keys(words), size), flags(without_keys(main.proc.cmdline), size)
    for flag in dict.fromkeys((*old, *new)):
        if old.get(flag) != new.get(flag):
            yield Finding("changed", name, f"args {flag}", old.get(flag), new.get(flag), pid)
    wanted, given = flags(words, size), flags(main.proc.cmdline, size)
    for flag in sorted(old.keys() & new.keys()):
        if old[flag] == new[flag] and wanted[flag] != given[flag]:
            yield Finding("changed", name, f"secret --{flag} is another than its file holds now", pid=pid)


def completed(expected: Expected) -> tuple[str, ...]:
    """The command as its process receives it: a flag whose value is a secret has it, as far as its file can be read."""
    words: list[str] = []
    for argument in expected.service.argv:
        *first, last = argument.words
        value = expected.secrets.get(last.removesuffix("=")) if last.startswith("--") else None
        words += [*first, last] if value is None else [*first, last + value] if last.endswith("=") else [last, value]
    return tuple(words)


def flags(words: Collection[str], size: int) -> Mapping[str, str]:
    """The flags of a command line with their values; `size` words are the program itself."""
    program, rest = tuple(words)[:size], tuple(words)[size:]
    groups: list[tuple[str, list[str]]] = [("program", list(program))]
    for word in rest:
        if word.startswith("--"):
            flag, joined, value = word.removeprefix("--").partition("=")
            groups.append((flag, [value] if joined else []))
        else:
            groups[-1][1].append(word)
    found: dict[str, list[str]] = {}
    for flag, values in groups:
        found.setdefault(flag, []).append(" ".join(values) or "on")
    return {flag: ", ".join(values) for flag, values in found.items()}


def without_keys(words: Iterable[str]) -> tuple[str, ...]:
    """A command line without the values of the flags that hold keys."""
    from launcher.lock.observed import LEFT_OUT, SECRET_KEYS  # rarely needed, and not cheap

    found: list[str] = []
    hidden = False
    for word in words:
        flag, joined, _ = word.partition("=")
        is_key = flag.startswith("--") and flag.removeprefix("--").replace("-", "_") in SECRET_KEYS
        found.append(LEFT_OUT if hidden else f"{flag}={LEFT_OUT}" if is_key and joined else word)
        hidden = is_key and not joined
    return tuple(found)


def _executable(expected: Expected, main: LiveProcess) -> Iterator[Finding]:
    name, pid, path = expected.service.name, main.proc.pid, main.executable
    if path is None:
        yield Finding("unchecked", name, "its executable: it is another user's", pid=pid)
    elif path.endswith(GONE):
        yield Finding("changed", name, f"executable {path.removesuffix(GONE)} was replaced after the start", pid=pid)
    elif path != expected.executable:
        yield Finding("changed", name, "executable", expected.executable, path, pid)


def _variables(expected: Expected, main: LiveProcess) -> Iterator[Finding]:
    """The environment of the main process: exactly the recorded one, no variable more."""
    name, pid, now = expected.service.name, main.proc.pid, main.environ
    if now is None:
        yield Finding("unchecked", name, "its environment: it cannot be read", pid=pid)
        return
    for variable in dict.fromkeys((*expected.environ, *now)):
        if variable not in expected.secrets and expected.environ.get(variable) != now.get(variable):
            old, new = expected.environ.get(variable), now.get(variable)
            yield Finding("changed", name, f"env {variable}", old, new, pid)
    for secret, value in expected.secrets.items():
        if value is None:
            yield Finding("unchecked", name, f"secret {secret}: its file cannot be read", pid=pid)
        elif not secret.startswith("--") and now.get(secret) != value:
            what = "is not set" if secret not in now else "is another than its file holds now"
            yield Finding("changed", name, f"secret {secret} {what}", pid=pid)


def _children(now: LiveService) -> Iterator[Finding]:
    """What children have beside their main process: that is what the engine set before it started them."""
    base = now.main.environ
    unreadable = [child for child in now.children if child.environ is None]
    for child in unreadable:
        title = " ".join(child.proc.cmdline)
        yield Finding("unchecked", now.name, f"the environment of {title}: it cannot be read", pid=child.proc.pid)
    seen: dict[str, Finding] = {}
    for child in now.children:
        for variable, value in (child.environ or {}).items():
            if base is not None and base.get(variable) != value and variable not in seen:
                pid = child.proc.pid
                seen[variable] = Finding("engine", now.name, f"env {variable}", base.get(variable), value, pid)
    yield from seen.values()


def port_findings(
    services: Iterable[Service],
    holders: Mapping[int, Listener],
    running: Mapping[str, LiveService],
    own: Mapping[str, Collection[int]],
) -> tuple[Finding, ...]:
    """Who holds the ports of `services`; `own` has the ports that each running service listens on."""
    found = []
    for service in services:
        now = running.get(service.name)
        pids = {process.proc.pid for process in now.processes} if now else set()
        for use, port in service.ports.items():
            holder = holders.get(port)
            if holder is None:
                if now and use in _ALWAYS_OPEN:
                    found.append(Finding("silent", service.name, f"port {port} ({use}): nobody listens"))
            elif port not in own.get(service.name, ()) and holder.pid not in pids:
                whose = f"pid {holder.pid} ({holder.command})" if holder.pid else holder.command
                found.append(Finding("foreign", service.name, f"port {port} ({use}) is held by {whose}"))
    return tuple(found)


def _shown(value: str | None) -> str:
    return "unset" if value is None else value or "''"
