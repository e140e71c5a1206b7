"""`verify`: can what has a name be brought back, and until when?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from launcher.cli.options import Deployment, Json
from launcher.cli.output import hint, print_json, say

if TYPE_CHECKING:
    from launcher.operations.verifying import Finding, Verified


def verify(
    generation: Annotated[
        str | None,
        typer.Argument(metavar="[GENERATION]", help="By default the current one and all that have a name."),
    ] = None,
    deployment: Deployment = None,
    deep: Annotated[bool, typer.Option("--deep", help="Read every file of the engine, not its size and time.")] = False,
    json: Json = False,
) -> int:
    """Prove that everything a rollback needs still exists, and warn of what will take it away; 3 where some is gone."""
    from launcher.operations.selecting import select
    from launcher.operations.verifying import verify as look

    found = look(select(deployment), generation, deep=deep)
    if json:
        print_json({"schema_version": 1, "sound": found.sound, **found.model_dump(mode="json")})
    else:
        for line in text(found):
            say(line)
    if found.generations and not found.names:
        hint("pdlaunch name noon gives what runs a name to come back to")
    return 0 if found.sound else 3


def text(found: Verified) -> Iterator[str]:
    """The findings, worst first, then what it comes to."""
    for finding in found.findings:
        yield f"{finding.kind:<8} {_of(finding)}{finding.what}"
        if finding.fix:
            yield f"{'':<8} fix: {finding.fix}"
    names = {number: [f'"{n}"' for n, at in found.names.items() if at == number] for number in found.generations}
    shown = ", ".join(" ".join([str(number), *said]) for number, said in names.items())
    many = "generations" if len(found.generations) > 1 else "generation"
    counts = {kind: sum(f.kind == kind for f in found.findings) for kind in ("missing", "differs", "soon")}
    if found.sound:
        later = f"; {counts['soon']} to see to before long" if counts["soon"] else ""
        read = "every file read" if found.deep else "files by size and time; --deep reads them"
        yield f"sound    {found.deployment}, {many} {shown}: all that the way back needs is here ({read}){later}"
    else:
        said = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        yield f"broken   {found.deployment}, {many} {shown}: {said}"


def _of(finding: Finding) -> str:
    return f"{', '.join(map(str, finding.generations))}: " if finding.generations else ""
