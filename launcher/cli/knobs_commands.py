"""`knobs`, `explain` and `declare`: what is known of flags and variables, and who says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from launcher.cli.knobs_diff import diff
from launcher.cli.knobs_lint import lint
from launcher.cli.options import Deployment, DryRun, Json
from launcher.cli.output import note, print_json, say, table
from launcher.errors import InputError

Name = Annotated[str, typer.Argument(metavar="NAME", help="A variable, or a flag without its dashes.")]
InProfile = Annotated[Path | None, typer.Option("--profile", metavar="FILE", help="The profile that is meant.")]


def knobs(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]...", help="Only names or components with all of these.")
    ] = None,
    profile: InProfile = None,
    undeclared: Annotated[
        bool, typer.Option("--undeclared", help="Variables that the engine reads and nobody has declared.")
    ] = False,
    json: Json = False,
) -> int:
    """List the declared knobs: where each is safe, and who says so."""
    from launcher.knobs.catalogue import catalogue
    from launcher.store import cache_dir

    known = catalogue(cache_dir() / "knobs")
    wanted = [word.lower() for word in words or ()]
    if undeclared:
        return _undeclared(wanted, profile, json=json)
    from launcher.cli import knobs_view

    chosen = [
        entry
        for name in known
        for entry in known.entries(name)[:1]
        if all(word in f"{name} {entry.declaration.component}".lower() for word in wanted)
    ]
    if json:
        print_json({"schema_version": 1, "knobs": [knobs_view.data(entry, known) for entry in chosen]})
        return 0
    if not chosen:
        raise InputError(f"no declared knob has {' and '.join(wanted)} in its name", hint="pdlaunch knobs lists all")
    say(table([("knob", "of", "safe", "bad", "claims"), *map(knobs_view.row, chosen)]))
    return 0


def _undeclared(wanted: list[str], profile: Path | None, *, json: bool) -> int:
    from launcher.knobs.catalogue import catalogue
    from launcher.operations.explaining import knobs_of
    from launcher.operations.explaining import undeclared as not_declared
    from launcher.profile import load
    from launcher.store import cache_dir

    engine = knobs_of(load(profile) if profile else None, None)
    if engine is None:
        raise InputError("no engine is here to be read", hint="name a profile whose engine is here: --profile FILE")
    found = not_declared(catalogue(cache_dir() / "knobs"), engine)
    chosen = [knob for knob in found if all(word in knob.name.lower() for word in wanted)]
    if json:
        rows = [
            {"name": knob.name, "type": knob.kind, "default": str(knob.default), "declared": str(knob.declared or "")}
            for knob in chosen
        ]
        print_json({"schema_version": 1, "engine": f"{engine.engine} {engine.version}", "undeclared": rows})
        return 0
    rows_ = [(k.name, k.kind, "" if k.default is None else str(k.default), str(k.declared or "")) for k in chosen]
    say(table([("variable", "type", "default", "declared"), *rows_]))
    note(f"{len(chosen)} variables that {engine.engine} {engine.version} reads and nobody has declared")
    return 0


def explain(name: Name, deployment: Deployment = None, profile: InProfile = None, json: Json = False) -> int:
    """Show what is known of a knob or a rule: its value here, what is safe, and who says so."""
    from launcher.cli import knobs_view
    from launcher.rules import RULES

    rule = next((rule for rule in RULES if rule.code == name), None)
    if rule is not None:
        if json:
            data = {"code": rule.code, "title": rule.title, "severity": rule.severity, "source": rule.source}
            print_json({"schema_version": 1, "rule": data})
        else:
            say(f"{rule.code}  {rule.title}\n  is          {rule.severity}\n  said by     {rule.source}")
        return 0
    from launcher.operations.explaining import explain as look_up
    from launcher.operations.selecting import select
    from launcher.store import deployments

    only = len(deployments()) == 1
    store = select(deployment) if profile is None and (deployment is not None or only) else None
    explained = look_up(name.lstrip("-"), profile=profile, store=store)
    if json:
        print_json({"schema_version": 1, **knobs_view.explained_data(explained)})
    else:
        say(knobs_view.explained(explained))
    return 0


def declare(
    name: Name,
    why: Annotated[str, typer.Option("--why", metavar="WHY", help="Who says that it is safe, and from what.")],
    value: Annotated[
        str | None, typer.Option("--value", metavar="VALUE", help="The value; else the profile's.")
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option("--profile", metavar="FILE", help="Declare it under `knobs` of this profile, for it alone."),
    ] = None,
    dry_run: DryRun = False,
) -> int:
    """Admit one value of a variable, with a reason, and no other value."""
    from launcher.operations.declaring import propose, write

    declaring = propose(name, why=why, value=value, profile=profile)
    if declaring.text is None:
        say(f"unchanged  {declaring.name}={declaring.value} is admitted already")
        return 0
    if dry_run:
        say(f"would write to {declaring.path}:")
        say(declaring.added.rstrip("\n"))
        return 0
    write(declaring)
    say(f"declared   {declaring.name}={declaring.value}, and no other value, in {declaring.path}")
    return 0


class _ListsByItself(TyperGroup):
    """`knobs WORD` is `knobs list WORD`: only a name of a command stands for that command."""

    # The type of `ctx` is in the click that typer carries and does not export.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["list", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ListsByItself,
    help="List the declared knobs: where each is safe, and who says so; judge recipes, compare engines.",
    rich_markup_mode=None,
    no_args_is_help=False,
)
app.command("list")(knobs)
app.command("lint")(lint)
app.command("diff")(diff)

COMMANDS: dict[str, Callable[..., int]] = {"explain": explain, "declare": declare}
