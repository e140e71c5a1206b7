"""What a rollback brings back, what is as it was, and what it cannot bring back, with the command that can.

Reads records and files only: no network, no import of the engine, no question to a card.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from launcher.compare import Change, Difference, Side, differences
from launcher.engines.environment import environment_at
from launcher.errors import PdlaunchError
from launcher.operations.receipts import read_receipt, take_receipt
from launcher.operations.recorded import machine_of
from launcher.operations.sides import of_generation
from launcher.store import Generation, Store, who

_RESTORED = frozenset({"service", "args", "env", "secrets", "ports", "gpus", "run", "plan", "source", "file"})
_OF_NO_USE = frozenset({"machine", "memory", "shared memory", "cpu", "cpus", "NUMA nodes"})
"""What of a machine nobody brings back with a command."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """What differs from then and a rollback leaves as it is."""

    what: str
    command: str | None
    """What would bring it back; None where no command can."""


@dataclass(frozen=True, slots=True)
class Restoring:
    """The way back, sorted by who can go it."""

    comes_back: tuple[Difference, ...]
    beyond: tuple[Beyond, ...]
    as_it_was: tuple[str, ...]
    unknown: str | None
    """Why some of it cannot be told: the generation never started here, a record is damaged."""


def restoring(store: Store, target: Generation, current: Generation | None, *, ask_driver: bool = False) -> Restoring:
    """What going to `target` brings back; refuses nothing, whatever is damaged is said.

    The driver is asked about its cards only on demand: it may be what hangs.
    """
    try:
        then = of_generation(target, store).side
        now = of_generation(current, store).side if current else then
        comes_back = tuple(d for d in differences(now, then).found if d.change.kind in _RESTORED)
        beyond, same, unknown = _beyond(store, target, then, ask_driver=ask_driver)
    except PdlaunchError as error:
        return Restoring((), (), (), error.message)
    return Restoring(comes_back, beyond, same, unknown)


def _beyond(
    store: Store, target: Generation, then: Side, *, ask_driver: bool
) -> tuple[tuple[Beyond, ...], tuple[str, ...], str | None]:
    if read_receipt(store, target.number) is None:
        return (), (), f"generation {target.number} has no receipt: packages, driver and model are not compared"
    receipt = take_receipt(target, store, by=who(), ask_driver=ask_driver)
    now = replace(then, receipt=machine_of(receipt), packages=_packages(target) or then.packages)
    if not receipt.machine.gpus and not ask_driver:
        then = replace(then, receipt={n: v for n, v in (then.receipt or {}).items() if not n.startswith("gpu ")})
    found = differences(now, then)
    changes = [d.change for d in found.found if d.change.kind in ("package", "receipt")]
    beyond = tuple(_words(change, target) for change in changes if change.name not in _OF_NO_USE)
    same = [word for word in ("packages", "machine and model") if word in found.unchanged]
    return beyond, tuple(same), None


def _packages(target: Generation) -> Mapping[str, str] | None:
    """What is installed now in the environment that the generation starts."""
    lock = target.lock
    server = next((s for s in target.plan.services if s.role != "router"), None)
    if lock is None or server is None or target.plan.engine.kind == "simulator":
        return None
    found = environment_at(Path(server.words()[0]).parents[1])
    return {name: d.version for name, d in found.distributions.items()} if found else {}


def _words(change: Change, target: Generation) -> Beyond:
    now, then = change.values
    what = f"{change.name}: {then} then, {now} now"
    if change.kind == "package":
        python = next(s.words()[0] for s in target.plan.services if s.role != "router")
        wanted = f"install --no-deps {change.name}=={then}" if change.after else f"uninstall -y {change.name}"
        return Beyond(what, f"{python} -m pip {wanted}")
    if change.name.startswith("setting "):
        return Beyond(what, f"sysctl -w {change.name.removeprefix('setting ')}={then}" if change.after else None)
    if change.name == "driver":
        return Beyond(what, "install that driver again (apt-mark hold keeps it), then reboot")
    if change.name.startswith("model "):
        return Beyond(what, f"put that file back into {target.plan.model_path}")
    return Beyond(what, None)
