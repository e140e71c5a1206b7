"""Where the services of a plan print to: files under supervisord, systemd's journal under systemd."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from launcher.backends.systemd.systemctl import manager
from launcher.observe.journal import JournalLines, following, last_entries
from launcher.observe.log_files import FileLines, last_lines
from launcher.observe.logs import Lines
from launcher.plan import Plan
from launcher.render import Layout
from launcher.render.systemd import service_unit


@contextmanager
def new_lines(plan: Plan, layout: Layout, names: Collection[str]) -> Iterator[Mapping[str, Lines]]:
    """What each of the services `names` prints from now on."""
    if plan.backend != "systemd" or not names:
        yield {name: FileLines(layout.log(name)) for name in names}
        return
    units = {name: service_unit(plan.deployment, name) for name in names}
    with following(units.values(), user=manager().user) as follower:
        yield {name: JournalLines(follower, unit) for name, unit in units.items()}


def last_of(plan: Plan, layout: Layout, name: str, count: int) -> list[str]:
    """The last `count` lines of one service."""
    if plan.backend != "systemd":
        return last_lines(layout.log(name), count)
    return last_entries(service_unit(plan.deployment, name), count, user=manager().user)


def log_of(plan: Plan, layout: Layout, name: str) -> str:
    """Where a person finds the log of one service: a file, or the command that prints it."""
    if plan.backend != "systemd":
        return str(layout.log(name))
    return f"journalctl {'--user ' if manager().user else ''}-u {service_unit(plan.deployment, name)}"
