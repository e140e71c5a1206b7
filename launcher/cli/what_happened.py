"""What happened: diff, history, explain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from launcher.cli import history_view
from launcher.cli.diff_command import diff
from launcher.cli.knobs_commands import explain
from launcher.cli.options import Deployment, Json
from launcher.cli.output import note, print_json, say, terminal_width


def history(
    generation: Annotated[
        str | None, typer.Argument(metavar="[GENERATION]", help="Everything about one; else a line for each.")
    ] = None,
    deployment: Deployment = None,
    json: Json = False,
) -> int:
    """List the generations: when, by whom, why, what each served, how far it was proven, when it hung."""
    from launcher.operations.history import detail
    from launcher.operations.history import history as read
    from launcher.operations.selecting import select

    store = select(deployment)
    if generation is not None:
        from launcher.operations.generations import meant

        chosen = meant(store, generation)
        if chosen.said:
            note(chosen.said)
        one = detail(store, chosen.number)
        if json:
            print_json({"schema_version": 1, "generation": one})
        else:
            say(history_view.detail(one))
        return 0
    rows = read(store)
    if json:
        print_json({"schema_version": 1, "generations": rows})
    else:
        say(history_view.history(rows, terminal_width() or history_view.WIDTH))
    return 0


COMMANDS: dict[str, Callable[..., int]] = {"diff": diff, "history": history, "explain": explain}
