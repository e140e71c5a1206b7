"""adopt: what runs and pdlaunch did not start, taken over without being touched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from launcher.cli.adopt_view import lines, script_lines
from launcher.cli.options import DryRun, Json, Why
from launcher.cli.output import note, print_json, say
from launcher.errors import InputError

if TYPE_CHECKING:
    from launcher.operations.adopting import Adopting, ReadScript

SCHEMA = 1


def adopt(
    pids: Annotated[
        list[int] | None, typer.Argument(metavar="[PID]...", help="The servers, where several deployments run.")
    ] = None,
    as_: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Name the generation.")] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="DEPLOYMENT", help="The model's name if left out.")
    ] = None,
    script: Annotated[
        Path | None, typer.Option("--script", metavar="FILE", help="Read a serve script instead, without running it.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="PROFILE", help="Where the profile goes: DEPLOYMENT.yaml here."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the profile.")] = False,
    why: Why = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Record what runs and pdlaunch did not start, without restarting anything, and write its profile."""
    from launcher.operations.adopting import adopt as take_over
    from launcher.operations.adopting import read_script

    if script is not None:
        if pids or as_ is not None:
            raise InputError(
                "--script reads a file; pids and --as are for what runs", hint=f"pdlaunch adopt --script {script}"
            )
        read = read_script(script, name=name, profile=out, force=force, dry_run=dry_run)
        if json:
            print_json({"schema_version": SCHEMA, **script_data(read)})
        else:
            say("\n".join(script_lines(read)))
        return 0
    done = take_over(pids=pids or (), name=name, called=as_, profile=out, force=force, dry_run=dry_run, why=why)
    if json:
        print_json({"schema_version": SCHEMA, **data(done)})
        return 0
    say("\n".join(lines(done)))
    if dry_run:
        note("\nnothing was recorded: a dry run")
    return 0


def script_data(read: ReadScript) -> dict[str, Any]:
    """The same as JSON, keys of secrets without their values."""
    from launcher.adopt.secrets import cut_names, is_secret, secrets_of

    return {
        "script": str(read.path),
        "commands": [
            {
                "line": c.line,
                "words": [
                    *c.words[: c.program.head],
                    *(w for group in secrets_of(c.words[c.program.head :], {}).words for w in group),
                ],
                "env": {n: "[cut out]" if is_secret(n) else v for n, v in c.environ.items() if n != "HOME"},
                "cwd": c.cwd,
            }
            for c in read.reading.commands
        ],
        "unread": [{"line": u.line, "text": cut_names(u.text), "why": u.why} for u in read.reading.unread],
        "profile": read.profile.path if read.profile else None,
    }


def data(done: Adopting) -> dict[str, Any]:
    """What was adopted, as JSON."""
    return {
        "deployment": done.deployment,
        "generation": done.generation,
        "name": done.called,
        "profile": done.profile.path,
        "lock": done.lock,
        "services": [
            {
                "name": s.name,
                "role": s.found.role,
                "pid": s.found.process.pid,
                "launched": s.found.launch.how,
                "unit": s.found.launch.unit.name if s.found.launch.unit else None,
                "script": s.found.launch.script,
                "read_from": s.found.read_from,
                "gpus": list(s.found.gpus),
                "ports": dict(s.found.ports),
                "edited": s.edited,
                "left": list(s.left),
                "unread": list(s.unread),
                "secrets": dict(done.secrets.get(s.name, {})),
            }
            for s in done.servers
        ],
        "declared": list(done.profile.declared),
        "differences": list(done.profile.differences) if done.profile.differences is not None else None,
        "problems": list(done.profile.problems),
    }


COMMANDS: dict[str, Callable[..., int]] = {"adopt": adopt}
