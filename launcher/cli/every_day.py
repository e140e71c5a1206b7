"""Every day: check, plan, up, status, logs, down, restart."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from launcher.cli import views
from launcher.cli.options import BackendName, Deployment, DryRun, Json, ProfilePath, Why
from launcher.cli.output import clock, duration, hint, note, print_json, print_problems, say
from launcher.cli.progress import reporter
from launcher.errors import InputError, PdlaunchError

if TYPE_CHECKING:
    from launcher.operations.status import Status


def check(
    profile: ProfilePath,
    engine: Annotated[
        str | None,
        typer.Option("--engine", metavar="PATH", help="Judge it by another engine than its own: a name, or a path."),
    ] = None,
    json: Json = False,
) -> int:
    """Judge a profile: every problem at once, with its line and what to write."""
    from launcher.operations.checking import check as judge
    from launcher.operations.checking import sound

    checked = judge(profile, against=engine)
    if json:
        print_json({"schema_version": 1, "profile": str(profile), "problems": checked.problems})
        return 2 if checked.errors else 0
    sound(checked)
    print_problems(checked.problems)
    say(f"ok  {checked.summary()}")
    return 0


def plan(profile: ProfilePath, backend: BackendName = None, json: Json = False) -> int:
    """Show what `up` would do: services, ports, what changes, what restarts. Changes nothing."""
    return _propose(profile, backend, confirm=False, json=json)


def _propose(profile: Path, backend: str | None, *, confirm: bool, json: bool) -> int:
    from launcher.operations.planning import propose

    proposal = propose(profile, backend=backend, confirm=confirm)
    if json:
        print_json({"schema_version": 1, **views.proposal_data(proposal)})
        return 0
    print_problems(proposal.problems)
    say(views.proposal(proposal))
    note()
    note(f'nothing was changed. Next: pdlaunch up {profile} -m "why"')
    return 0


def up(
    profile: ProfilePath,
    why: Why = None,
    backend: BackendName = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Stop the deployments that hold what this one needs.")
    ] = False,
    confirm: Annotated[
        str | None,
        typer.Option(
            "--confirm", metavar="TIME", help="Return to the former generation unless `confirm` comes by then."
        ),
    ] = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Start a deployment, or bring it to what the profile says now; waits until tokens come back."""
    seconds = _time(confirm) if confirm is not None else None
    if dry_run:
        return _propose(profile, backend, confirm=seconds is not None, json=json)
    from launcher.operations.up import up as bring_up

    began = time.monotonic()
    done = bring_up(profile, reporter(), why=why, backend=backend, replace=replace, confirm=seconds)
    if json:
        print_json({"schema_version": 1, **views.up_data(done)})
        return 0
    if done.arrived is None:
        say(f"unchanged  generation {done.generation} runs exactly this, {done.url}")
        return 0
    proven = str(done.arrived.proven)
    took = duration(time.monotonic() - began)
    say(f"up         generation {done.generation}, {done.url}. {proven[0].upper()}{proven[1:]}. {took}")
    if done.until:
        note(f"not confirmed: the former generation returns at {clock(done.until)}")
        hint(f"pdlaunch confirm -d {done.deployment}")
    return 0


def _time(text: str) -> float:
    """Seconds of ``30m``; raises InputError for what is no time."""
    from launcher.profile.quantities import seconds

    found = seconds(text)
    if not found:
        raise InputError(f"--confirm {text!r} is no time: write 90s, 30m or 2h")
    return found


def status(deployment: Deployment = None, json: Json = False) -> int:
    """Show what runs, how far it is proven, and what to type next."""
    from launcher.operations.selecting import select, stores
    from launcher.operations.status import status as look

    chosen = [select(deployment)] if deployment is not None else stores()
    seen, broken = [], []
    for store in chosen:
        try:
            seen.append(look(store))
        except PdlaunchError as error:  # one that is damaged hides none of the others
            if len(chosen) == 1:
                raise
            broken.append((store.layout.deployment, error.message))
    if json:
        print_json(seen[0] if len(chosen) == 1 else _several(seen, broken))
    else:
        say("\n\n".join(map(views.status, seen)))
        for found in seen:
            if found.next:
                hint(found.next, found.deployment)
        for name, damage in broken:
            note(f"error: {name}: {damage}")
    if broken:
        return 1
    return 0 if all(found.state in ("ok", "stopped", "empty") for found in seen) else 1


def _several(seen: list[Status], broken: list[tuple[str, str]]) -> dict[str, object]:
    """All deployments as data: those that can be looked at, and why the others cannot."""
    errors = [{"deployment": name, "error": damage} for name, damage in broken]
    return {"schema_version": 1, "deployments": seen, "errors": errors}


def logs(
    services: Annotated[list[str] | None, typer.Argument(metavar="[SERVICE]...", help="A service or a role.")] = None,
    deployment: Deployment = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on as lines come.")] = False,
    lines: Annotated[int, typer.Option("-n", "--lines", min=0, help="How many lines of each.")] = 20,
) -> int:
    """Print what the services printed."""
    from launcher.operations.logs import logs as read
    from launcher.operations.selecting import select

    for service, line in read(select(deployment), tuple(services or ()), lines=lines, follow=follow):
        say(f"{service}  {line}")
    return 0


def down(
    deployment: Deployment = None,
    why: Why = None,
    now: Annotated[bool, typer.Option("--now", help="Do not let running requests finish.")] = False,
    dry_run: DryRun = False,
) -> int:
    """Stop a deployment; nothing of it is left when this returns."""
    from launcher.operations.down import down as stop
    from launcher.operations.selecting import select

    store = select(deployment)
    if dry_run:
        from launcher.observe.running import running

        names = ", ".join(running(store.layout.state)) or "nothing runs"
        say(f"would stop {store.layout.deployment}: {names}")
        return 0
    done = stop(store, reporter(), why=why, drain=not now)
    if done.stopped:
        names = ", ".join(done.stopped)
        say(f"down       {done.deployment}: {names} stopped; nothing is left. {duration(done.seconds)}")
    else:
        say(f"down       {done.deployment}: nothing was running")
    return 0


def restart(
    services: Annotated[list[str] | None, typer.Argument(metavar="[SERVICE]...", help="A service or a role.")] = None,
    deployment: Deployment = None,
    now: Annotated[bool, typer.Option("--now", help="Do not let running requests finish.")] = False,
    why: Why = None,
    dry_run: DryRun = False,
) -> int:
    """Restart services as they were recorded; without a name all of them."""
    from launcher.operations.restart import meant, recorded
    from launcher.operations.restart import restart as again
    from launcher.operations.selecting import select

    store = select(deployment)
    names = tuple(services or ())
    if dry_run:
        say(f"would restart {', '.join(meant(recorded(store).plan, names))}")
        return 0
    began = time.monotonic()
    done = again(store, names, reporter(), why=why, drain=not now)
    took = duration(time.monotonic() - began)
    say(f"restarted  generation {done.generation}. {str(done.proven).capitalize()}. {took}")
    return 0


COMMANDS: dict[str, Callable[..., int]] = {
    "check": check,
    "plan": plan,
    "up": up,
    "status": status,
    "logs": logs,
    "down": down,
    "restart": restart,
}
