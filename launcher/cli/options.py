"""The options that many commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ProfilePath = Annotated[Path, typer.Argument(metavar="PROFILE", help="The profile's YAML file.")]
Deployment = Annotated[
    str | None,
    typer.Option("-d", "--deployment", metavar="NAME", help="Which deployment; not needed where there is only one."),
]
Why = Annotated[str | None, typer.Option("-m", "--message", metavar="WHY", help="Why; kept in the journal.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
BackendName = Annotated[
    str | None, typer.Option("--backend", metavar="NAME", help="supervisord or systemd, instead of the profile's own.")
]
