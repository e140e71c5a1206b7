"""Freezes what a hang looks like before anybody touches it: ``STATE/evidence/TIME-SERVICE/``, a file for each thing."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from launcher.backends.processes import Table, look
from launcher.errors import PdlaunchError
from launcher.observe.cards import Absent, cards
from launcher.observe.http import Endpoint
from launcher.observe.kernel_log import kernel_log
from launcher.observe.stacks import py_spy, stack
from launcher.operations.logs import logs
from launcher.operations.redacting import Redactor, redactor
from launcher.operations.watch_state import read
from launcher.plan import Plan, Service
from launcher.store import Store
from launcher.store.files import in_words, make_folder

FOLDER = "evidence"
_LINES = 400
_KEPT = 20
"""Folders that stay: a server that hangs again and again must not fill the disk."""
_PATIENCE = 2.0
"""Seconds that a server gets for an answer."""


def freeze(store: Store, service: str) -> Path:
    """Write down everything about a hang of `service`; takes at most about half a minute.

    What cannot be had is told in its file, or in ``missing.txt``. Raises PdlaunchError where nothing can be written.
    """
    plan = store.generation(store.current() or 0).plan
    folder = store.layout.state / FOLDER / f"{time.strftime('%Y%m%d-%H%M%S')}-{service}"
    with in_words("freeze evidence", store.layout.state):
        make_folder(folder)
        folder.chmod(0o700)
    hide = redactor(plan)
    missing = []
    parts = _parts(store, plan)
    with ThreadPoolExecutor(len(parts)) as pool:
        for name, written in zip(parts, pool.map(lambda part: _try(part, folder, hide), parts.values()), strict=True):
            missing += [f"{name}: {written}"] if written else []
    if missing:
        (folder / "missing.txt").write_text("\n".join(missing) + "\n")
    _prune(folder.parent)
    return folder


Files = Iterator[tuple[str, str]]
Part = Callable[[], Files]
"""Yields names of files with what goes into them."""


def _parts(store: Store, plan: Plan) -> Mapping[str, Part]:
    table = look(store.layout.state)
    return {
        "verdict": lambda: _verdict(store),
        "processes": lambda: _processes(plan, table),
        "stacks": lambda: _stacks(plan, table),
        "answers": lambda: _answers(plan),
        "logs": lambda: _logs(store),
        "cards": _cards,
        "kernel": lambda: iter([("kernel.log", kernel_log())]),
        "changes": lambda: _changes(store),
    }


def _try(part: Part, folder: Path, hide: Redactor) -> str | None:
    """Write one part; what hinders it hinders no other."""
    try:
        for name, text in part():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(hide(text), errors="replace")
    except (PdlaunchError, OSError) as error:
        return str(error)
    return None


def _verdict(store: Store) -> Files:
    if (seen := read(store.layout)) is not None:
        yield "verdict.json", seen.model_dump_json(indent=2)


def _processes(plan: Plan, table: Table) -> Files:
    lines = [
        f"{name}  pid {proc.pid}  parent {proc.ppid}  since {time.strftime('%F %T', time.localtime(proc.created))}  "
        + " ".join(proc.cmdline)
        for name, procs in table.services.items()
        for proc in procs
    ]
    yield "processes.txt", "\n".join([f"generation of {plan.deployment}", *lines]) + "\n"


def _stacks(plan: Plan, table: Table) -> Files:
    tool = py_spy([Path(sys.executable).parent, *(Path(s.words()[0]).parent for s in plan.services)])
    named = ((name, proc) for name, procs in table.services.items() for proc in procs)
    found = [(name, proc) for name, proc in named if "sglang" in " ".join(proc.cmdline)]
    with ThreadPoolExecutor(8) as pool:
        for (name, proc), text in zip(found, pool.map(lambda f: stack(f[1].pid, tool), found), strict=True):
            yield f"stacks/{name}-{proc.pid}.txt", f"{' '.join(proc.cmdline)}\n\n{text}\n"


def _answers(plan: Plan) -> Files:
    """Queues and counters of all roles, as they say them."""
    asked = [(s, path) for s in plan.services for path in _paths(s)]
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda a: _endpoint(*a).get(a[1], _PATIENCE), asked)
        for (service, path), answer in zip(asked, answers, strict=True):
            suffix = "json" if path.startswith("/v1") else "txt"
            name = path.partition("?")[0].rpartition("/")[2]
            yield f"{service.name}.{name}.{suffix}", answer.text if answer.ok else f"{answer.status}: {answer.text}"


def _paths(service: Service) -> tuple[str, ...]:
    return ("/metrics", "/workers") if service.role == "router" else ("/metrics", "/v1/loads?include=all")


def _endpoint(service: Service, path: str) -> Endpoint:
    ports = service.ports
    return Endpoint(service.host, ports["metrics"] if path == "/metrics" and "metrics" in ports else ports["http"])


def _logs(store: Store) -> Files:
    texts: dict[str, list[str]] = {}
    for name, line in logs(store, (), lines=_LINES, follow=False):
        texts.setdefault(name, []).append(line)
    for name, lines in texts.items():
        yield f"logs/{name}.log", "\n".join(lines) + "\n"


def _cards() -> Files:
    found = cards(patience=10.0)
    text = found.reason if isinstance(found, Absent) else json.dumps(asdict(found), indent=2, default=str)
    yield "cards.json" if not isinstance(found, Absent) else "cards.txt", text + "\n"


def _changes(store: Store) -> Files:
    """What differs from the last generation that served well, else from the one before."""
    from launcher.operations.diffing import diff

    for word in ("good", "-1"):
        try:
            found = diff(word, None, deployment=store.layout.deployment)
        except PdlaunchError as error:
            told = error.message
            continue
        lines = [str(difference.change) for difference in found.differences.found] or ["nothing differs"]
        yield "changes.txt", f"{found.before.side.label} -> {found.after.side.label}\n" + "\n".join(lines) + "\n"
        return
    yield "changes.txt", f"nothing to compare with: {told}\n"


def _prune(folder: Path) -> None:
    for old in sorted(path for path in folder.iterdir() if path.is_dir())[:-_KEPT]:
        shutil.rmtree(old, ignore_errors=True)
