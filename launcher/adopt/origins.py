"""How a process was launched: a systemd unit, a script, nohup, a terminal multiplexer, a container."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from launcher.adopt.process import Details, Process, Processes

UNIT_FOLDERS = ("etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system")
"""Where units lie, the first that has one wins: systemd.unit(5)."""
_CONTAINER = re.compile(r"(?:docker|libpod|crio|cri-containerd|containerd|lxc|kubepods)[^/]*[-/.:]")
_LEFT_TO_OTHERS = re.compile(r"(cron|crond|ssh|sshd|atd|getty@.*|docker|containerd|supervisor|supervisord|user@\d+)")
"""Units that only hold what people start: stopping them would stop more than a server."""
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh"})
_SHELL_OPTIONS = re.compile(r"[-+][A-Za-z]+|--[a-z-]+")
_SUPERVISORS = frozenset({"supervisord", "runsvdir", "runsv", "s6-supervise", "circusd", "pm2"})


@dataclass(frozen=True, slots=True)
class Unit:
    """A systemd unit that started a server."""

    name: str
    user: bool
    """Of a user's own manager rather than of the system's."""
    file: str | None
    """Where it was found."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Who started a process."""

    how: str
    """``sglang-decode.service``, ``bash script``, ``tmux``, ``nohup``, ``a program``, ``a shell``."""
    unit: Unit | None = None
    script: str | None = None
    """The script that started it, where that can be told."""
    container: str | None = None
    """Why it counts as one inside a container."""
    supervisor: str | None = None
    """Another program that would start it again."""


def launched(processes: Processes, process: Process, details: Details, own: Details, root: Path = Path("/")) -> Launch:
    """How `process` was launched; `own` are the details of this command, `root` is where units are looked for."""
    if container := _container(details, own):
        return Launch("container", container=container)
    above = list(processes.above(process))
    unit = _unit(details, root)
    script = _script(processes, above) or (_in_unit(unit) if unit else None)
    supervisor = next((f"{p.name} (pid {p.pid})" for p in above if _program(p) in _SUPERVISORS), None)
    how = unit.name if unit else _how(above, details, script)
    return Launch(how, unit=unit, script=script, supervisor=supervisor)


def _how(above: Sequence[Process], details: Details, script: str | None) -> str:
    names = [p.name for p in above]
    if any(name.startswith("tmux") for name in names):
        return "tmux"
    if any(name.lower() == "screen" for name in names):
        return "screen"
    if details.ignores_hangup:
        return "nohup"
    if script:
        return "bash script"
    parent = above[0] if above else None
    if parent is None or parent.pid == 1:
        return "a shell that has ended"
    return "a shell" if _program(parent) in _SHELLS else f"{parent.name} (pid {parent.pid})"


def _container(details: Details, own: Details) -> str | None:
    if details.pid_namespace and own.pid_namespace and details.pid_namespace != own.pid_namespace:
        return "its process numbers are a container's"
    if _CONTAINER.search(details.cgroup) and details.cgroup != own.cgroup and not _CONTAINER.search(own.cgroup):
        return f"its control group is a container's: {details.cgroup}"
    return None


def _unit(details: Details, root: Path) -> Unit | None:
    parts = [part for part in details.cgroup.split("/") if part]
    name = next((part for part in reversed(parts) if part.endswith(".service")), None)
    if name is None or _LEFT_TO_OTHERS.fullmatch(name.removesuffix(".service")) or parts[-1].endswith(".scope"):
        return None
    user = any(part.startswith("user@") for part in parts)
    files = (root / folder / name for folder in UNIT_FOLDERS)
    return Unit(name, user, None if user else next((str(file) for file in files if file.is_file()), None))


def _in_unit(unit: Unit) -> str | None:
    """The script of a unit's ``ExecStart=``, where it is one."""
    try:
        text = Path(unit.file).read_text(errors="replace") if unit.file else ""
    except OSError:
        return None
    lines = re.findall(r"(?m)^ExecStart=[-@:+!|]*(.+)$", text.replace("\\\n", " "))
    try:
        words = shlex.split(lines[-1]) if lines else []
    except ValueError:
        return None
    return next((word for word in words if is_script(Path(word))), None)


def _script(processes: Processes, above: Sequence[Process]) -> str | None:
    """The file that the nearest shell above runs."""
    for process in above:
        if _program(process) not in _SHELLS:
            continue
        at = 1
        while at < len(process.words) and _SHELL_OPTIONS.fullmatch(process.words[at]):
            if "c" in process.words[at].lstrip("-") and not process.words[at].startswith("--"):
                break
            at += 2 if process.words[at] in ("-o", "+o", "-O", "+O", "--rcfile", "--init-file") else 1
        if at < len(process.words) and not process.words[at].startswith("-"):
            path = Path(processes.details(process).cwd or "/") / process.words[at]
            return str(path) if path.is_file() else None
    return None


def is_script(path: Path) -> bool:
    """Whether `path` is a file for a shell."""
    try:
        with path.open("rb") as file:
            first = file.readline(200)
    except OSError:
        return False
    shell = re.search(rb"^#!.*\b(bash|sh|dash|zsh|ksh)\b", first)
    return bool(shell) or (path.suffix in (".sh", ".bash") and b"\0" not in first)


def _program(process: Process) -> str:
    return (process.words[0] if process.words else process.name).rpartition("/")[2].lstrip("-")
