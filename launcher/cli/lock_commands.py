"""`lock` and `name`: what runs, written down, and given a name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from launcher.cli.options import BackendName, DryRun, Json, Why
from launcher.cli.output import note, print_json, print_problems, say

if TYPE_CHECKING:
    from launcher.operations.locking import Compared


def lock(
    profile: Annotated[Path, typer.Argument(metavar="PROFILE", help="The profile's YAML file.")],
    check: Annotated[
        bool, typer.Option("--check", help="Compare with the file that is there; 3 when they differ.")
    ] = False,
    why: Why = None,
    backend: BackendName = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> int:
    """Write what a profile starts into NAME.lock.yaml beside it, for git and for other machines."""
    from launcher.operations.locking import compare_profile, lock_profile

    if check:
        return _check(compare_profile(profile, backend=backend), json=json)
    done = lock_profile(profile, backend=backend, why=why, dry_run=dry_run)
    print_problems(done.problems)
    word = "wrote" if done.written else "would write" if dry_run and done.before is not done.lock else "unchanged"
    if json:
        print_json({"schema_version": 1, "path": done.path, "result": word, "digest": done.lock.intent.digest})
        return 0
    say(f"{word}  {done.path}  {done.lock.intent.digest[:12]}")
    return 0


def _check(found: Compared, *, json: bool) -> int:
    if json:
        print_json({"schema_version": 1, "equal": found.equal, **{k: getattr(found, k) for k in ("path", "complete")}})
    else:
        for change in (*found.changes, *found.others):
            say(str(change))
        if found.equal:
            say(f"equal  {found.path}")
    if not found.complete:
        note("the engine is not on this machine: only the profile was compared")
    return 0 if found.equal else 3


COMMANDS: dict[str, Callable[..., int]] = {"lock": lock}
