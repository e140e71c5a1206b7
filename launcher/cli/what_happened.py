"""What happened: history."""

from __future__ import annotations

from collections.abc import Callable

from launcher.cli import views
from launcher.cli.options import Deployment, Json
from launcher.cli.output import print_json, say


def history(deployment: Deployment = None, json: Json = False) -> int:
    """List the generations: when, by whom, why, how long each served, how far it was proven."""
    from launcher.operations.history import history as read
    from launcher.operations.selecting import select

    rows = read(select(deployment))
    if json:
        print_json({"schema_version": 1, "generations": rows})
    else:
        say(views.history(rows))
    return 0


COMMANDS: dict[str, Callable[..., int]] = {"history": history}
