"""`lock` and `name`: what runs, written down, and given a name to come back to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from launcher.cli.options import BackendName, Deployment, DryRun, Json, Why
from launcher.cli.output import hint, named, note, print_json, print_problems, say, table
from launcher.cli.progress import reporter
from launcher.errors import InputError

if TYPE_CHECKING:
    from launcher.operations.locking import Compared, Locked
    from launcher.operations.naming import Named
    from launcher.store import Store


def lock(
    profile: Annotated[
        Path | None, typer.Argument(metavar="[PROFILE]", help="Without one: the generation that is current.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare the profile with its lock; 3 when they differ.")
    ] = False,
    as_: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Name the current generation.")] = None,
    full_hash: Annotated[
        bool, typer.Option("--full-hash", help="Read the weights in full, once, and keep their hashes in the receipt.")
    ] = False,
    deployment: Deployment = None,
    why: Why = None,
    backend: BackendName = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Write what a profile starts into NAME.lock.yaml beside it; or print, name or complete what runs now."""
    if profile is not None:
        _only_for_what_runs(as_, deployment, full_hash=full_hash)
        return _profile(profile, backend, why, check=check, dry_run=dry_run, json=json)
    if check:
        raise InputError("--check compares a profile with its lock", hint="pdlaunch lock PROFILE --check")
    from launcher.operations.selecting import select

    store = select(deployment)
    if as_ is not None:
        return _named(store, as_, None, why, move=False, dry_run=dry_run, json=json)
    if full_hash:
        return _full_hash(store, dry_run=dry_run, json=json)
    return _current(store, json=json)


def _only_for_what_runs(as_: str | None, deployment: str | None, *, full_hash: bool) -> None:
    given = {"--as": as_ is not None, "--full-hash": full_hash, "--deployment": deployment is not None}
    for option, present in given.items():
        if present:
            raise InputError(f"{option} is for what runs, not for a profile", hint="leave PROFILE out")


def _profile(profile: Path, backend: str | None, why: str | None, *, check: bool, dry_run: bool, json: bool) -> int:
    from launcher.operations.locking import compare_profile, lock_profile

    if check:
        return _checked(compare_profile(profile, backend=backend), json=json)
    done = lock_profile(profile, backend=backend, why=why, dry_run=dry_run)
    print_problems(done.problems)
    if json:
        print_json({"schema_version": 1, "path": done.path, "result": done.result, "digest": done.lock.intent.digest})
    else:
        say(_wrote(done))
    return 0


def _wrote(done: Locked) -> str:
    edited = done.lock.intent.engine.source.edited
    said = [
        _count(len(done.lock.intent.services), "service"),
        _count(done.lock.intent.engine.packages.count, "package"),
    ]
    if edited:
        said.append(f"{_count(len(edited), 'file')} of the engine edited")
    return f"{done.result}  {done.path}  {done.lock.intent.digest[:12]}  {', '.join(said)}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _checked(found: Compared, *, json: bool) -> int:
    if json:
        print_json(
            {
                "schema_version": 1,
                "path": found.path,
                "equal": found.equal,
                "complete": found.complete,
                "changes": found.changes,
                "others": [{"place": d.place, "before": d.before, "after": d.after} for d in found.others],
            }
        )
        return 0 if found.equal else 3
    for change in (*found.changes, *found.others):
        say(str(change))
    if not found.complete:
        note("the engine is not on this machine: only the profile was compared")
    if found.equal:
        say(f"equal  {found.path}")
        return 0
    hint(f"pdlaunch lock {found.profile} writes the lock anew")
    return 3


def _current(store: Store, *, json: bool) -> int:
    from launcher.lock import document, to_yaml
    from launcher.operations.locking import lock_of_current

    found = lock_of_current(store)
    if json:
        print_json({"schema_version": 1, "lock": document(found)})
    else:
        say(to_yaml(found).rstrip("\n"))
    return 0


def _full_hash(store: Store, *, dry_run: bool, json: bool) -> int:
    from launcher.operations.weighing import weigh

    done = weigh(store, reporter(), dry_run=dry_run)
    if json:
        print_json({"schema_version": 1, "generation": done.generation, "read": done.read, "weights": done.weights})
        return 0
    word = "would read" if dry_run else "read"
    say(f"{word}  {done.read} of {_count(done.weights, 'file')} of weights; receipt of generation {done.generation}")
    return 0


def name(
    word: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A word such as noon.")] = None,
    generation: Annotated[
        str | None, typer.Argument(metavar="[GENERATION]", help="Any way of writing one; by default the current.")
    ] = None,
    deployment: Deployment = None,
    list_: Annotated[bool, typer.Option("--list", help="List the names; the default without NAME.")] = False,
    delete: Annotated[bool, typer.Option("--delete", help="Take the name away.")] = False,
    move: Annotated[bool, typer.Option("--move", help="Take it from the generation that has it.")] = False,
    why: Why = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Give a generation a name to come back to, such as noon; without NAME, list the names."""
    from launcher.operations.generations import meant
    from launcher.operations.selecting import select

    store = select(deployment)
    if word is None or list_:
        return _names(store, json=json)
    if not delete:
        found = meant(store, generation) if generation is not None else None
        if found and found.said:
            note(found.said)
        return _named(store, word, found.number if found else None, why, move=move, dry_run=dry_run, json=json)
    if generation is not None:
        raise InputError("--delete takes a name away and needs no generation", hint=f"pdlaunch name {word} --delete")
    return _deleted(store, word, why, dry_run=dry_run, json=json)


def _names(store: Store, *, json: bool) -> int:
    from launcher.operations.naming import names

    found = names(store)
    if json:
        print_json({"schema_version": 1, "names": found})
    elif found:
        say(table([("name", "gen"), *((n.name, str(n.generation)) for n in found)]))
    else:
        note(named(f"{store.layout.deployment} has no names; give one: pdlaunch name NAME [GENERATION]"))
    return 0


def _named(
    store: Store, word: str, number: int | None, why: str | None, *, move: bool, dry_run: bool, json: bool
) -> int:
    from launcher.operations.naming import name as give
    from launcher.operations.naming import would_name

    done = would_name(store, word, number, move=move) if dry_run else give(store, word, number, why=why, move=move)
    if json:
        print_json({"schema_version": 1, "result": done})
    else:
        say(_said(done, dry_run=dry_run))
    return 0


def _said(done: Named, *, dry_run: bool) -> str:
    if done.before == done.generation:
        return f"unchanged  {done.name} is generation {done.generation} of {done.deployment}"
    was = f", no longer {done.before}" if done.before is not None else ""
    return (
        f"{'would name' if dry_run else 'named'}  {done.name} = generation {done.generation} of {done.deployment}{was}"
    )


def _deleted(store: Store, word: str, why: str | None, *, dry_run: bool, json: bool) -> int:
    from launcher.operations.naming import unname, would_unname

    done = would_unname(store, word) if dry_run else unname(store, word, why=why)
    if json:
        print_json({"schema_version": 1, "result": done})
    else:
        say(f"{'would delete' if dry_run else 'deleted'}  {done.name}, which was generation {done.generation}")
    return 0


COMMANDS: dict[str, Callable[..., int]] = {"lock": lock, "name": name}
