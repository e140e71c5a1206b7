"""The servers of this machine that nobody of ours started: main processes, with all that can be read of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from launcher.adopt.options import Options
from launcher.adopt.origins import Launch, launched
from launcher.adopt.process import PROC, Details, Process, Processes
from launcher.adopt.programs import Program, recognise
from launcher.adopt.script import Command, Reading, ScriptError, read
from launcher.plan import MARK

Role: TypeAlias = Literal["prefill", "decode", "aggregated", "router"]
SUPERVISOR = "supervisord"
"""The mark of a deployment's own daemon."""
BOOTSTRAP = 8998
"""``--disaggregation-bootstrap-port`` of SGLang 0.5.23 where nobody gives it."""
USUAL_PORT = 30000
"""``--port`` of SGLang and of sglang-router where nobody gives it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A server as it runs."""

    process: Process
    tree: tuple[Process, ...]
    """The main process first."""
    details: Details
    launch: Launch
    program: Program
    words: tuple[str, ...]
    """The whole command; of a process that renamed itself, what its script says."""
    environ: Mapping[str, str]
    """At exec; of a process that wrote over it, what its script says."""
    listens: tuple[int, ...]
    born: float
    """Seconds since the epoch."""
    read_from: str | None = None
    """The script that words and environment had to be read from; None where the process itself tells."""
    refused: str | None = None
    """Why it cannot be taken over."""

    @property
    def options(self) -> Options:
        """Its own flags."""
        return Options(self.words[self.program.head :])

    @property
    def role(self) -> Role:
        """What it serves as."""
        if self.program.kind == "router":
            return "router"
        mode = self.options.text("disaggregation-mode")
        return "prefill" if mode == "prefill" else "decode" if mode == "decode" else "aggregated"

    @property
    def port(self) -> int:
        """Where clients reach it."""
        return self.options.number("port") or USUAL_PORT

    @property
    def ports(self) -> Mapping[str, int]:
        """Purpose to port, as far as its flags and its sockets tell."""
        found = {"http": self.port}
        if nccl := self.options.number("nccl-port"):
            found["nccl"] = nccl
        if self.role == "prefill":
            found["bootstrap"] = self.options.number("disaggregation-bootstrap-port") or BOOTSTRAP
        metrics = self.options.number("prometheus-port")
        if self.role == "router" and metrics and metrics in self.listens:
            found["metrics"] = metrics
        return found

    @property
    def gpus(self) -> tuple[int, ...]:
        """The cards that it uses, counted as the driver does where the environment says so."""
        if self.program.kind != "sglang" or self.role == "router":
            return ()
        if self.options.text("device") == "cpu" or self.environ.get("SGLANG_USE_CPU_ENGINE") in ("1", "true"):
            return ()
        count = self.options.number("tp-size", "tp", "tensor-parallel-size") or 1
        count *= self.options.number("pp-size", "pipeline-parallel-size") or 1
        base, step = self.options.number("base-gpu-id") or 0, self.options.number("gpu-id-step") or 1
        visible = self.environ.get("CUDA_VISIBLE_DEVICES", "")
        cards = [int(card) for card in visible.split(",") if card.strip().isdecimal()]
        wanted = range(base, base + count * step, step)
        return tuple(cards[i] for i in wanted if i < len(cards)) if cards else tuple(wanted)


def find(*, proc: Path = PROC, root: Path = Path("/"), taken: frozenset[int] = frozenset()) -> tuple[Found, ...]:
    """Every server that this machine runs and pdlaunch did not start, prefills first, the router last.

    `taken` are pids that a deployment has adopted already. A server whose words cannot be read at all is there too,
    with the reason in `refused`.
    """
    processes = Processes(proc)
    own = processes.details(processes[os.getpid()]) if os.getpid() in processes else _nobody()
    programs = {p.pid: program for p in processes.values() if (program := recognise(p.words))}
    found = []
    for pid, program in programs.items():
        process = processes[pid]
        if pid in taken or any(parent.pid in programs for parent in processes.above(process)):
            continue
        details = processes.details(process)
        if not _is_ours(details.environ or {}, processes):
            found.append(_found(processes, process, program, details, own, root))
    order = ("prefill", "decode", "aggregated", "router")
    return tuple(sorted(found, key=lambda f: (order.index(f.role), f.port, f.process.pid)))


def of_script(command: Command, script: str) -> Found:
    """A server that a script would start, in the form of one that runs."""
    process = Process(0, 0, 0, "", command.words)
    return Found(
        process=process,
        tree=(process,),
        details=Details(command.environ, command.cwd, None, os.geteuid(), "", None, ignores_hangup=False, output=None),
        launch=Launch("bash script", script=script),
        program=command.program,
        words=command.words,
        environ=command.environ,
        listens=(),
        born=0.0,
        read_from=script,
    )


def _found(
    processes: Processes, process: Process, program: Program, details: Details, own: Details, root: Path
) -> Found:
    launch = launched(processes, process, details, own, root)
    tree = processes.tree(process)
    words, environ, read_from, refused = process.words, details.environ, None, None
    if launch.container:
        refused = f"it runs in a container: {launch.container}"
    elif program.renamed or environ is None:
        told = _from_script(processes, process, program, launch)
        if told is None:
            refused = _unreadable(process, program, launch)
        else:
            words, environ, program, read_from = told.words, environ or told.environ, told.program, launch.script
    return Found(
        process=process,
        tree=tree,
        details=details,
        launch=launch,
        program=program,
        words=words,
        environ=environ or {},
        listens=processes.ports(tree),
        born=processes.born(process),
        read_from=read_from,
        refused=refused,
    )


def _from_script(processes: Processes, process: Process, program: Program, launch: Launch) -> Command | None:
    """The one server of this kind in the script, started with what the shell above it was started with."""
    if launch.script is None:
        return None
    shell = next((p for p in processes.above(process) if Path(launch.script).name in " ".join(p.words)), None)
    reading = reading_of(launch.script, (processes.details(shell).environ if shell else None) or {})
    commands = [c for c in reading.commands if c.program.kind == program.kind] if reading else []
    return commands[0] if len(commands) == 1 else None


def reading_of(script: str, environ: Mapping[str, str]) -> Reading | None:
    """The script at a path as it is now; None where it is gone, or is none that bash takes."""
    try:
        return read(Path(script).read_text(errors="surrogateescape"), script, environ=environ)
    except (OSError, ScriptError):
        return None


def _unreadable(process: Process, program: Program, launch: Launch) -> str:
    what = f"calls itself {process.words[0]!r} and hides its command" if program.renamed else "hides its environment"
    where = f"; {launch.script} does not tell either" if launch.script else "; no script is known that started it"
    return f"it {what}{where}"


def _is_ours(environ: Mapping[str, str], processes: Processes) -> bool:
    """Whether it carries the mark of a deployment whose supervisor lives."""
    state = environ.get(MARK, "").rpartition("/")[0]
    return bool(state) and any(mark == f"{state}/{SUPERVISOR}" for mark in _marks(processes))


def _marks(processes: Processes) -> Iterator[str]:
    for process in processes.values():
        if any("supervisord" in word for word in process.words[:3]):
            yield (processes.details(process).environ or {}).get(MARK, "")


def _nobody() -> Details:
    return Details(None, None, None, os.geteuid(), "", None, ignores_hangup=False, output=None)
