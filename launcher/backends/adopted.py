"""Which processes of others count as a deployment's services: pid and start time of each, until they end.

Such processes carry no mark in their environment, so a file in the deployment's state stands for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from launcher.errors import PdlaunchError
from launcher.frozen import Frozen

NAME = "adopted.json"


class Adopted(Frozen):
    """Services by name, each with the pids and start times (clock ticks since boot) of its tree."""

    boot: str
    """The boot that they belong to: after another one the same numbers are other processes."""
    services: Mapping[str, tuple[tuple[int, int], ...]]


def adopted(state: Path) -> Mapping[tuple[int, int], str]:
    """Pid and start time of every adopted process of the deployment whose folder is `state`, with its service.

    Raises PdlaunchError for a file that pdlaunch did not write.
    """
    try:
        content = (state / NAME).read_bytes()
    except OSError:
        return {}
    try:
        found = Adopted.model_validate_json(content)
    except ValidationError as error:
        raise PdlaunchError(
            f"{state / NAME} was edited and says no longer which processes were adopted",
            hint="remove it once nothing of the old servers runs, then `pdlaunch adopt` again where it does",
        ) from error
    if found.boot != _boot():
        return {}
    return {key: name for name, tree in found.services.items() for key in tree}


@cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
