"""Back: rollback, name, verify."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from typing import Annotated

import typer

from launcher.cli import views
from launcher.cli.lock_commands import name
from launcher.cli.options import Deployment, DryRun, Json, Why, Yes
from launcher.cli.output import clock, duration, interactive, note, print_json, say
from launcher.cli.progress import reporter
from launcher.cli.verify_command import verify
from launcher.errors import InputError


def rollback(
    to: Annotated[
        str, typer.Option("--to", metavar="GENERATION", help="A number, -1, a name, a time (12:00, 2h) or good.")
    ],
    deployment: Deployment = None,
    why: Why = None,
    restore_checkout: Annotated[
        bool, typer.Option("--restore-checkout", help="Make engine.source hold what it held then; keeps what it holds.")
    ] = False,
    now: Annotated[bool, typer.Option("--now", help="Do not let running requests finish.")] = False,
    if_free: Annotated[
        bool, typer.Option("--if-free", help="Leave another command that is under way alone: exit 4 instead.")
    ] = False,
    yes: Yes = False,
    dry_run: DryRun = False,
) -> int:
    """Bring an earlier generation back, exactly as it was recorded; no check refuses it."""
    from launcher.operations.generations import meant
    from launcher.operations.rollback import rollback as go_back
    from launcher.operations.rollback import way_back
    from launcher.operations.selecting import select

    store = select(deployment)
    chosen = meant(store, to)
    number = chosen.number
    if chosen.said:
        note(chosen.said)
    way = way_back(store, number)
    (say if dry_run else note)(views.way(way))
    if dry_run:
        return 0
    if not yes:
        if not interactive():
            options = {"--to": to, "-d": deployment, "-m": why}
            given = [word for option, value in options.items() if value is not None for word in (option, value)]
            flags = ["--restore-checkout", "--yes"] if restore_checkout else ["--yes"]
            raise InputError("this needs a yes", hint=shlex.join(["pdlaunch", "rollback", *given, *flags]))
        if not typer.confirm("go?", default=True, err=True):
            note("nothing was changed")
            return 0
    began = time.monotonic()
    done = go_back(store, number, reporter(), why=why, checkout=restore_checkout, drain=not now, in_front=not if_free)
    took = duration(time.monotonic() - began)
    say(f"back       generation {done.generation}. {str(done.proven).capitalize()}. {took}")
    return 0


def confirm(
    deployment: Deployment = None,
    why: Why = None,
    expired: Annotated[bool, typer.Option("--expired", hidden=True, help="What the timer calls: go back.")] = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Keep what `up --confirm` started: nothing returns by itself, and a boot brings it back."""
    from launcher.operations.confirming import confirm as keep
    from launcher.operations.confirming import expire, must_wait
    from launcher.operations.selecting import select

    store = select(deployment)
    if expired:
        say("back       not confirmed in time" if expire(store, reporter()) else "nothing waits for a confirmation")
        return 0
    if dry_run:
        waits = must_wait(store)
        say(f"would keep generation {waits.generation}; generation {waits.former} would return at {clock(waits.until)}")
        return 0
    done = keep(store, reporter(), why=why)
    if json:
        print_json(
            {"schema_version": 1, "deployment": done.deployment, "generation": done.generation, "former": done.former}
        )
        return 0
    say(f"confirmed  generation {done.generation} of {done.deployment}: a boot brings it back")
    return 0


COMMANDS: dict[str, Callable[..., int]] = {"rollback": rollback, "confirm": confirm, "name": name, "verify": verify}
