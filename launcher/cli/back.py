"""Back: rollback, name, verify."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from typing import Annotated

import typer

from launcher.cli import views
from launcher.cli.lock_commands import name
from launcher.cli.options import Deployment, DryRun, Why, Yes
from launcher.cli.output import duration, interactive, note, say
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
    done = go_back(store, number, reporter(), why=why, checkout=restore_checkout)
    took = duration(time.monotonic() - began)
    say(f"back       generation {done.generation}. {str(done.proven).capitalize()}. {took}")
    return 0


COMMANDS: dict[str, Callable[..., int]] = {"rollback": rollback, "name": name, "verify": verify}
