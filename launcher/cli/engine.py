"""Set-up: engine install, engine add, engine list."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from launcher.cli.options import DryRun, Json
from launcher.cli.output import print_json, say, table
from launcher.cli.progress import reporter
from launcher.errors import InputError

if TYPE_CHECKING:
    from launcher.operations.engines import Listed

app = typer.Typer(
    help="Install the CPU engine, register serving environments, list what is known.",
    rich_markup_mode=None,
    no_args_is_help=True,
)


@app.command()
def install(
    kind: Annotated[str, typer.Argument(metavar="cpu", help="The only kind that pdlaunch installs itself.")],
    dry_run: DryRun = False,
) -> int:
    """Install the CPU engine: real SGLang, NIXL and router without a GPU, and a tiny model made here."""
    from launcher.engines.cpu.engine import home
    from launcher.operations.engines import install_cpu

    if kind != "cpu":
        raise InputError(
            f"pdlaunch installs no engine called {kind!r}",
            hint="pdlaunch engine install cpu; one with GPUs is made with pip, then: pdlaunch engine add PATH",
        )
    if dry_run:
        say(f"would install the CPU engine into {home()}: about 0.4 GB to download, 2 GB on the disk, two minutes")
        return 0
    found = install_cpu(reporter())
    versions = ", ".join(f"{name} {found.versions[name]}" for name in ("sglang", "torch", "nixl", "sglang-router"))
    say(f"cpu  {found.venv}  {versions}")
    return 0


@app.command()
def add(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A virtual environment, or a checkout of SGLang.")],
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="By default its folder's.")] = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Give a serving environment or checkout a name, and say what was found in it."""
    from launcher.engines import describe
    from launcher.operations.engines import add as register

    if dry_run:
        say(f"would register {path}: sglang {describe(path).version}")
        return 0
    found = register(path, name)
    if json:
        print_json({"schema_version": 1, "engine": found})
    else:
        say("\n".join(_found(found)))
    return 0


@app.command(name="list")
def list_(json: Json = False) -> int:
    """List the engines that have a name."""
    from launcher.operations.engines import listing

    found = listing()
    if json:
        print_json({"schema_version": 1, "engines": found})
        return 0
    rows = [(x.entry.name, x.entry.kind, x.facts.version if x.facts else "-", str(x.entry.path)) for x in found]
    say(table([("name", "kind", "version", "path"), *rows]))
    for x in found:
        if x.problem:
            say(f"\n{x.entry.name}: {x.problem}")
    return 0


def _found(listed: Listed) -> list[str]:
    facts = listed.facts
    if facts is None:
        return [f"{listed.entry.name}  {listed.problem}"]
    parts = {
        "sglang": f"{facts.version}  {facts.package}",
        "commit": facts.commit,
        "python": f"{facts.python_version}  {facts.python}" if facts.python else None,
        "torch": f"{facts.torch}, CUDA {facts.cuda}" if facts.torch and facts.cuda else facts.torch,
        "nixl": facts.nixl,
        "router": facts.router,
    }
    missing = [name for name in ("python", "torch", "nixl", "router") if not parts[name]]
    lines = [f"{listed.entry.name}  {facts.kind}  {facts.path}"]
    lines += [f"  {name:<8} {text}" for name, text in parts.items() if text]
    return [*lines, f"  not found: {', '.join(missing)}"] if missing else lines
