"""`watch`: looks after a deployment until it is told to end, or gives one verdict."""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from launcher.cli.options import Deployment, Json
from launcher.cli.output import duration, print_json, say

if TYPE_CHECKING:
    from launcher.watch import Verdict


def watch(
    deployment: Deployment = None,
    once: Annotated[bool, typer.Option("--once", help="Give one verdict, from two looks, and end.")] = False,
    freeze: Annotated[
        str | None, typer.Option("--freeze", metavar="SERVICE", help="Freeze evidence about a service, and end.")
    ] = None,
    json: Json = False,
) -> int:
    """Watch a deployment: tell hung from busy, freeze evidence on a hang, and do what the profile says then."""
    from launcher.operations.guarding import verdict_now, watch_until_told
    from launcher.operations.selecting import select

    store = select(deployment)
    if freeze:
        from launcher.operations.freezing import freeze as evidence

        say(str(evidence(store, freeze)))
        return 0
    if not (once or json):
        watch_until_told(store, _line)
        return 0
    return _show(verdict_now(store), json=json)


def _line(text: str) -> None:
    """A line of the story: the journal dates it, a file does not."""
    say(text if "JOURNAL_STREAM" in os.environ else f"{time.strftime('%Y-%m-%d %H:%M:%S')}  {text}")
    sys.stdout.flush()


def _show(verdict: Verdict, *, json: bool) -> int:
    if json:
        print_json({"schema_version": 1, **dataclasses.asdict(verdict)})
    else:
        say(f"generation {verdict.generation}  {verdict.state}")
        for service in verdict.services.values():
            last = f", last token {duration(verdict.time - service.progress)} ago" if service.progress else ""
            say(f"  {service.name}  {service.standing}, {service.requests} requests{last}")
        for finding in verdict.findings:
            say(f"  {finding}")
    return 0 if verdict.state in ("idle", "busy", "loading", "changing") else 1
