"""The commands put together, and what becomes of an error: one clear message, a hint, an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

import typer

from launcher.cli import back, engine, every_day, knobs_commands, set_up, what_happened
from launcher.cli.generation_words import Command
from launcher.cli.output import note, print_error
from launcher.errors import PdlaunchError
from launcher.operations.interrupts import Interrupted
from launcher.operations.subject import is_about
from launcher.patience import listening

Commands: TypeAlias = Mapping[str, Callable[..., int]]

GROUPS: tuple[tuple[str, Commands], ...] = (
    ("Every day", every_day.COMMANDS),
    ("What happened", what_happened.COMMANDS),
    ("Back", back.COMMANDS),
    ("Set-up", set_up.COMMANDS),
)
NESTED: Mapping[str, typer.Typer] = {"knobs": knobs_commands.app, "engine": engine.app}
"""Commands of set-up that have commands of their own."""
UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What a wrong command line raises: typer carries a click of its own and exports only the leaves of its exceptions."""
INTERRUPTED = 130
"""128 + SIGINT, as shells say it."""


def build(asked: str | None = None) -> typer.Typer:
    """The application: whole, or with the one command `asked` for, since making each from its signature takes time."""
    app = typer.Typer(
        name="pdlaunch",
        help="Launch prefill/decode-disaggregated SGLang serving, and keep its configuration honest.",
        rich_markup_mode=None,
        add_completion=False,  # `launcher.cli.completing` answers shells
        pretty_exceptions_enable=False,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_nothing)  # keeps it a group: a single command would take the place of its name
    known = {name: function for _, commands in GROUPS for name, function in commands.items()}
    for name, function in ({asked: known[asked]} if asked in known else known).items():
        app.command(name, cls=Command)(function)
    for name, nested in NESTED.items():
        if asked not in known:
            app.add_typer(nested, name=name)
    return app


def _nothing() -> None:
    pass


def run(words: Sequence[str]) -> int:
    """Run one command line; returns its exit code. Never lets an exception of ours or of the system through."""
    is_about(_deployment(words))
    command = typer.main.get_command(build(words[0] if words else None))
    try:
        with listening(note):
            result = command.main(list(words), prog_name="pdlaunch", standalone_mode=False)
        sys.stdout.flush()
    except PdlaunchError as error:
        print_error(error)
        result = error.exit_code
    except typer.Exit as exit_:
        result = exit_.exit_code
    except UsageError as error:
        result = _usage(error)
    except (KeyboardInterrupt, Interrupted, typer.Abort):
        result = INTERRUPTED
    except SystemExit:  # how typer ends where the reader of its output went away
        result = _gone()
    except OSError as error:
        result = _gone() if isinstance(error, BrokenPipeError) else _refused(error)
    if result == INTERRUPTED:
        note("interrupted")
    return result if isinstance(result, int) else 0


def _deployment(words: Sequence[str]) -> str | None:
    """The deployment that the command line names itself, known before it is understood; a profile's is told later."""
    return next(
        (name for option, name in pairwise(words) if option in ("-d", "--deployment") and "/" not in name), None
    )


def _gone() -> int:
    """A reader that went away (`| head`) is no error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered goes nowhere
    return 0


def _refused(error: OSError) -> int:
    """What the system refused."""
    where = f" ({error.filename})" if error.filename else ""
    note(f"error: {error.strerror or error}{where}")
    return 1


def _usage(error: Exception) -> int:
    said = error.format_message() if isinstance(error, typer.BadParameter) else getattr(error, "message", str(error))
    note(f"error: {said.rstrip('.')}")
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "pdlaunch"
    note(f"hint: {path} --help")
    return 2
