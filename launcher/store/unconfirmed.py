"""The generation that somebody has yet to confirm, and the one that comes back unless they do."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from pydantic import ValidationError

from launcher.errors import PdlaunchError
from launcher.frozen import Frozen
from launcher.render.layout import Layout
from launcher.store.files import in_words, remove, replace

NAME = "unconfirmed.json"
"""In the deployment's folder; while it is there, a boot brings back the former generation."""


class Unconfirmed(Frozen):
    """What was agreed when the change was begun."""

    generation: int
    former: int
    until: dt.datetime
    by: str
    why: str | None

    @property
    def clock(self) -> str:
        """``20:31``, with the date where that is another day."""
        local = self.until.astimezone()
        today = dt.datetime.now().astimezone().date()
        return local.strftime("%H:%M" if local.date() == today else "%Y-%m-%d %H:%M")


def unconfirmed(layout: Layout) -> Unconfirmed | None:
    """What waits for a confirmation; None where nothing does.

    Raises PdlaunchError for a file that pdlaunch did not write.
    """
    path = layout.state / NAME
    try:
        return Unconfirmed.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise PdlaunchError(
            f"{path} was edited and says no longer what is to be confirmed",
            hint=f"remove it where nothing is: rm {path}",
        ) from error


def write_unconfirmed(layout: Layout, note: Unconfirmed) -> Path:
    """Write the note down, for good."""
    path = layout.state / NAME
    with in_words("note what is to be confirmed", layout.state):
        replace(path, note.model_dump_json(indent=1).encode())
    return path


def remove_unconfirmed(layout: Layout) -> None:
    """Take the note away; fine where there is none."""
    with in_words("forget what was to be confirmed", layout.state):
        remove(layout.state / NAME)
