"""Run by `test_full_disk.py` where the state lies on a small disk of its own: `up` with ever less room.

Prints a JSON list: for each amount of room the error, what `status` said then, and what the next `up` with room did.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from launcher.errors import PdlaunchError
from launcher.operations.down import down
from launcher.operations.events import Event, silent
from launcher.operations.pruning import prune
from launcher.operations.restart import restart
from launcher.operations.rollback import rollback
from launcher.operations.status import status
from launcher.operations.up import up
from launcher.store import Store, layout, state_dir

ROOMS = tuple(kilobytes * 1024 for kilobytes in (0, 24, 48, 56, 60, 128))


def fill(path: Path, leave: int) -> None:
    """Take all room of the disk but `leave` bytes."""
    block = b"x" * 4096
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(block)
        except OSError:
            pass
        file.truncate(max(0, file.tell() - leave))


def main(profile: Path) -> None:
    """Begin with a deployment that runs, so that there is one to be left alone."""
    up(profile, silent)
    store, filler = Store(layout("agg")), state_dir() / "filler"
    text, results = profile.read_text(), []
    for number, room in enumerate(ROOMS):
        profile.write_text(text.replace("TOKEN_MS: '0'", f"TOKEN_MS: '{number + 1}'"))
        fill(filler, room)
        error = None
        try:
            up(profile, silent)
        except PdlaunchError as caught:
            error = (caught.exit_code, caught.message)
        seen = status(store)
        filler.unlink()
        results.append(
            {
                "error": error,
                "state": seen.state,
                "running": [s.name for s in seen.services if s.pid],
                "generation": up(profile, silent).generation,
                "after": status(store).state,
                "damage": store.verify(store.numbers()[-1]),
            }
        )
    back = ways_back(store, filler)
    down(store, silent)
    shutil.rmtree(store.layout.state)
    print(json.dumps({"ups": results, "back": back}))  # noqa: T201


def ways_back(store: Store, filler: Path) -> dict[str, Any]:
    """What still works when nothing more can be written."""
    found: dict[str, Any] = {"from": store.current()}
    fill(filler, 0)
    told: list[Event] = []
    restart(store, (), told.append)
    found["restarted"] = status(store).state
    found["told"] = sorted({event.text.partition(":")[0] for event in told if event.subject == "note"})
    try:
        rollback(store, 1, silent)
    except PdlaunchError as error:
        found["refused"] = (error.exit_code, error.message)
    found["serving"] = (status(store).state, store.current())
    before = shutil.disk_usage(store.layout.state).free
    found["pruned"] = len(prune(store, 2).removed)
    found["room"] = shutil.disk_usage(store.layout.state).free - before
    filler.unlink()
    number = store.numbers()[0]
    rollback(store, number, silent)
    found["back"] = (status(store).state, store.current() == number, store.verify(number))
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
