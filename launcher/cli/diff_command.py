"""diff: what changed, who brought it, and whether what runs is what was recorded."""

from __future__ import annotations

from typing import Annotated

import typer

from launcher.cli import diff_view
from launcher.cli.options import Deployment, Json
from launcher.cli.output import hint, named, note, print_json, say
from launcher.errors import InputError

DIFFERENT = 3
"""Exit code."""


def diff(
    before: Annotated[
        str | None,
        typer.Argument(
            metavar="[A]",
            help="A generation (number, -1, name, time, good), a lock file or a profile; else the one before.",
        ),
    ] = None,
    after: Annotated[str | None, typer.Argument(metavar="[B]", help="The other side; else what is current.")] = None,
    deployment: Deployment = None,
    live: Annotated[bool, typer.Option("--live", help="Compare with the running processes themselves.")] = False,
    source: Annotated[
        bool, typer.Option("--source", help="Print the edits of the engine's source as a patch.")
    ] = False,
    json: Json = False,
) -> int:
    """Show what differs, the most dangerous first, and who brought it; exit 3 where something does."""
    from launcher.operations import diffing

    if live and after is not None:
        raise InputError("--live compares with what runs, so there is no B", hint=f"pdlaunch diff {before} --live")
    if live:
        found = diffing.diff_live(before, deployment=deployment)
    else:
        found = diffing.diff(before, after, deployment=deployment)
    for said in dict.fromkeys((found.before.said, found.after.said)):
        if said:
            note(said)
    if source:
        for line in diffing.source_patch(found):
            say(line)
    elif json:
        print_json(diff_view.data(found))
    else:
        say(named(diff_view.text(found)))
        for words in diff_view.hints(found):
            hint(words)
    return 0 if found.equal else DIFFERENT
