"""The operation that is being carried out now, written down before its first step."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from pydantic import ValidationError

from launcher.errors import PdlaunchError
from launcher.frozen import Frozen
from launcher.misfits import first_of
from launcher.store.process import Process


class Pending(Frozen):
    """What is under way, or was when its process died: the next command continues it or undoes it."""

    id: str
    operation: str
    """The verb: ``up``, ``rollback``, ``down``."""
    from_generation: int | None
    to_generation: int | None
    step: str
    """The last step begun; what it had reached is for the backend to say."""
    by: str
    why: str | None
    process: Process
    since: dt.datetime


def read_pending(path: Path) -> Pending | None:
    """What ``pending.json`` says, or None where nothing is under way.

    Raises:
        PdlaunchError: the file was edited; it is only ever replaced as a whole.
    """
    try:
        return Pending.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise PdlaunchError(
            f"{path} cannot be read ({first_of(error)})",
            hint=f"look at it, then move it away: mv {path} {path}.bad",
        ) from error
