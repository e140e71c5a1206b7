"""`logs`: what the services printed, each line with its service, followed across rotations."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from launcher.operations.log_sources import last_of, new_lines
from launcher.operations.restart import meant
from launcher.store import Store

_POLL = 0.2
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def logs(store: Store, names: tuple[str, ...], *, lines: int, follow: bool) -> Iterator[tuple[str, str]]:
    """The last `lines` lines of each service as (service, line), then, with `follow`, new ones as they come.

    Raises InputError for a service that the deployment does not have.
    """
    numbers = store.numbers()
    current = store.current() or (numbers[-1] if numbers else None)
    if current is None:
        return
    plan = store.generation(current).plan
    chosen = meant(plan, names)
    with new_lines(plan, store.layout, chosen if follow else ()) as ends:
        for name in chosen:
            yield from ((name, plain(line)) for line in last_of(plan, store.layout, name, lines))
        while follow:
            came = [(name, line) for name, source in ends.items() for _, line in source.new()]
            yield from ((name, plain(line)) for name, line in came)
            if not came:
                time.sleep(_POLL)


def plain(line: str) -> str:
    """A line without the colours that the router writes whoever reads it."""
    return _COLOUR.sub("", line)
