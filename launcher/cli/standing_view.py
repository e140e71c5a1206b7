"""What of a deployment nobody calls safe, who waives it, and what came since it was good, below its status."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING

from launcher.cli.said_view import until

if TYPE_CHECKING:
    from launcher.operations.standing import Objection, Since, Standing

_WIDE = 110


def lines(found: Standing) -> Iterator[str]:
    """A block for each kind of answer; none where there is nothing to say."""
    if found.since and found.since.changes:
        yield from _block(f"since {found.since.generation}", [_since(found.since)])
    for objection in found.objections:
        label = "waived" if objection.waiver else "unsafe"
        yield from _block(label, [_waived(objection), _judged(objection)])
    told = {objection.waiver.what for objection in found.objections if objection.waiver}
    for waiver in found.waivers:
        if waiver.what not in told:
            yield from _block("waived", [f'{waiver.what}, "{waiver.why}", {until(waiver)} by {waiver.by}'])


def _since(since: Since) -> str:
    changes = "1 change" if since.changes == 1 else f"{since.changes} changes"
    alarms = {0: "", 1: ", one outside its declared range"}
    outside = alarms.get(since.alarms, f", {since.alarms} outside their declared range")
    return f"{changes}{outside}      pdlaunch diff {since.known_as}"


def _waived(objection: Objection) -> str:
    setting, waiver = f"{objection.subject}={objection.value}", objection.waiver
    return f'{setting}, "{waiver.why}", {until(waiver)} by {waiver.by}' if waiver else f"{setting}, not waived"


def _judged(objection: Objection) -> str:
    if objection.outcome == "bad":
        return f"known bad: {objection.why}"
    hazard = f"; {objection.hazard}" if objection.hazard else ""
    said = "outside its declared range" if objection.outcome == "outside" else "nobody has said that this value is safe"
    return f"{said} (safe: {objection.why}){hazard}"


def _block(label: str, texts: list[str]) -> Iterator[str]:
    rows = [row for text in texts for row in wrap(text, _WIDE, break_long_words=False, break_on_hyphens=False)]
    for index, row in enumerate(rows):
        yield f"  {label if index == 0 else '':<11} {row}"
