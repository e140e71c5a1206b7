"""What `adopt` says: what was found, what is not as its file says, what was left out, what to type next."""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from launcher.cli.output import duration, table

if TYPE_CHECKING:
    from launcher.operations.adopting import AdoptedServer, Adopting, ReadScript

MOST = 3
"""Names that are shown of a list; all are in the JSON."""


def lines(done: Adopting) -> Iterator[str]:
    """What was found, what it stands on, what was written, what to type next."""
    yield f"found {done.deployment}; nothing was restarted or changed"
    yield ""
    yield from (f"  {line}" for line in table([_row(s) for s in done.servers]).splitlines())
    yield from _edited(done)
    for server in done.servers:
        yield ""
        yield from _settings(server, done)
    yield ""
    if done.generation is not None:
        called = f' "{done.called}"' if done.called else ""
        scripts = _count(len(done.servers), "script")
        yield f"stored  generation {done.generation}{called}: {scripts}, the old scripts and units beside"
        yield f"wrote   {done.profile.path}" + (f", {done.lock.name}" if done.lock else "")
    yield from _profile(done)
    yield ""
    yield from _next(done)


def _row(server: AdoptedServer) -> tuple[str, ...]:
    found = server.found
    ports = [f":{found.port}"] + [
        f"{use} {port}" for use, port in found.ports.items() if use in ("bootstrap", "metrics")
    ]
    script = found.launch.script or ""
    gpus = ",".join(map(str, found.gpus))
    up = f"up {duration(time.time() - found.born)}"
    return server.name, f"pid {found.process.pid}", found.launch.how, script, gpus, " ".join(ports), up


def _edited(done: Adopting) -> Iterator[str]:
    found = [(s, s.edited) for s in done.servers if s.edited]
    if found:
        yield ""
        yield "runs something else than its file says"
    for server, edit in found:
        at, born = _clock(edit.at), _clock(server.found.born)
        yield f"  {server.name}  {edit.script} was edited {at}, the process started {born}. Not yet in effect:"
        for line in edit.lines:
            yield f"    {line.line:>4}  {line.text}"
            yield f"          {line.setting}: runs {_value(line.runs)}, the file says {_value(line.says)}"


def _settings(server: AdoptedServer, done: Adopting) -> Iterator[str]:
    found = server.found
    flags = sum(bool(option.name) for option in found.options.all)
    yield f"{server.name}: {_count(len(found.environ), 'variable')}, {_count(flags, 'flag')}"
    if found.read_from:
        yield f"      its command could not be read from the process: taken from {found.read_from}"
    if found.launch.supervisor:
        yield f"      {found.launch.supervisor} starts it again when it ends: take it out there before the hand-over"
    counted = Counter((left.kind, left.why) for left in server.left if left.kind == "variable")
    for (_, why), count in counted.items():
        named = [left.what for left in server.left if left.kind == "variable" and left.why == why]
        yield f"  {count:>3}  {why}: left out of the profile ({_some(named)})"
    for kind, said in (
        ("spelling", "spelled otherwise; written in full"),
        ("owned", "are keys of a profile, or follow from it"),
        ("flag", "that no profile can say: only the generation has them"),
    ):
        named = [left.what for left in server.left if left.kind == kind]
        if named:
            yield f"  {len(named):>3}  {_count(len(named), 'flag').partition(' ')[2]} {said}: {_some(named)}"
    if server.unread:
        yield f"  {len(server.unread):>3}  read by nothing in this engine: {_some(list(server.unread))}"
    for what, file in done.secrets.get(server.name, {}).items():
        where = "on the command line" if what.startswith("--") else "in the environment"
        yield f"    1  secret {where}: {what}. Cut out of the copies, kept in {file} (0600)"
        if what.startswith("--"):
            yield "       It stays readable in ps, log and /server_info as long as it is a flag"


def _profile(done: Adopting) -> Iterator[str]:
    profile = done.profile
    errors = sum(p.severity == "error" for p in profile.problems)
    if profile.declared:
        yield f'        declared as "this value only": {_some(list(profile.declared))}'
    if profile.differences is not None:
        added = sum(d.runs is None for d in profile.differences)
        left = sum(d.renders is None for d in profile.differences)
        others = [d for d in profile.differences if d.runs is not None and d.renders is not None]
        yield f"        renders what runs, less {left}, with {added} of pdlaunch's own, {len(others)} otherwise"
        yield from (
            f"          {d.service} {d.setting}: runs {_value(d.runs)}, renders {_value(d.renders)}" for d in others
        )
    if profile.problems:
        found = f"{_count(errors, 'error')}, {_count(len(profile.problems) - errors, 'warning')}"
        yield f"check   {found} about what runs today. They do not stop a rollback to it"


def _next(done: Adopting) -> Iterator[str]:
    units = sum(s.found.launch.unit is not None for s in done.servers)
    stops = f"stops and disables {_count(units, 'old unit')}" if units else "stops the old processes"
    back = done.called or str(done.generation or "GENERATION")
    rows = [
        (f"pdlaunch status -d {done.deployment}", "watches the services as they are, under their old launcher"),
        _forward(done, stops),
        (
            f"pdlaunch rollback --to {back}",
            "starts exactly what was adopted" + (", enables the old units again" if units else ""),
        ),
    ]
    width = max(len(command) for command, _ in rows)
    for index, (command, what) in enumerate(rows):
        yield f"{'next' if not index else '':<8}{command:<{width}}  {what}"


def _forward(done: Adopting, stops: str) -> tuple[str, str]:
    """The way on from here: an `up` that the checks would refuse is nobody's next command."""
    file = done.profile.path.name
    if errors := sum(p.severity == "error" for p in done.profile.problems):
        what = f"says what to mend in it ({_count(errors, 'error')}); then `pdlaunch up {file}` hands over"
        return f"pdlaunch check {file}", what
    return f"pdlaunch up {file}", f"hands over: {stops}, starts the same"


def script_lines(read: ReadScript) -> Iterator[str]:
    """What a script starts, and what only a run would tell."""
    from launcher.adopt.options import options
    from launcher.adopt.secrets import cut_names

    commands = read.reading.commands
    yield f"{read.path} starts {_count(len(commands), 'server')}; nothing was run"
    for command in commands:
        yield ""
        yield f"  line {command.line}: {' '.join(command.words[: command.program.head])}"
        yield from (f"    {cut_names(' '.join(o.words))}" for o in options(command.words[command.program.head :]))
        yield from (
            f"    env {cut_names(f'{name}={value}')}" for name, value in command.environ.items() if name != "HOME"
        )
        if command.cwd:
            yield f"    in {command.cwd}"
    if read.reading.unread:
        yield ""
        yield "not readable without running it"
        yield from (f"  {read.path.name}:{u.line}  {cut_names(u.text)}  ({u.why})" for u in read.reading.unread)
    if read.profile:
        yield ""
        yield f"wrote   {read.profile.path}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:MOST]) + (", ..." if len(names) > MOST else "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _value(value: str | None) -> str:
    return "nothing" if value is None else value if value else "an empty text"


def _clock(at: float) -> str:
    local = dt.datetime.fromtimestamp(at).astimezone()
    today = dt.datetime.now().astimezone().date()
    return local.strftime("%H:%M" if local.date() == today else "%Y-%m-%d %H:%M")
