"""How what has been declared of a knob reads beside one that differs, or that runs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from textwrap import wrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from launcher.compare import Said, SaidOfValue
    from launcher.profile import Waiver

_INDENT = "     "
_WIDE = 110
_CLAIMS = 3
"""Claims told of a value; the JSON and `explain` have all."""
_ALARMED = 2


def lines(said: Said) -> Iterator[str]:
    """The judgement of each value that somebody objects to, then what the knob does and who says so."""
    safe = "; ".join(f"safe: {text}, {' and '.join(places)}" for text, places in said.safe)
    if said.alarm >= _ALARMED:
        yield from wrapped(f"{safe}{f'. {_sentence(said.hazard)}' if said.hazard else ''}")
        return
    for value, which in ((said.after, ""), (said.before, "before: ")):
        if value and value.alarm < _ALARMED:
            yield from wrapped(f"{which}{judgement(value)} ({safe}){waived(value.waiver)}")
    worst = min((v for v in (said.after, said.before) if v), key=lambda v: v.alarm)
    yield from wrapped(" ".join(filter(None, (said.about, _sentence(said.hazard)))))
    for claim in worst.claims[:_CLAIMS]:
        about = ", ".join(filter(None, (claim.date, claim.hardware)))
        yield from wrapped(f"{claim.status}: {claim.says}{f' ({about})' if about else ''}  {claim.source}")


def judgement(value: SaidOfValue) -> str:
    """``known bad: it hangs``, or what else is objected to."""
    match value.outcome:
        case "bad":
            return f"known bad: {value.why}"
        case "outside":
            return "outside its declared range"
        case "untested":
            return "outside what is declared: nobody has said that this value is safe"
        case _:
            return f"declared safe: {value.why}"


def waived(waiver: Waiver | None) -> str:
    """``, waived until Fri 4 Dec by anna``; nothing without a waiver."""
    return f", waived {until(waiver)} by {waiver.by}" if waiver else ""


def until(waiver: Waiver) -> str:
    """``until Fri 4 Dec``, and that it is over."""
    today = dt.datetime.now().astimezone().date()
    day = f"{waiver.until:%a} {waiver.until.day} {waiver.until:%b}"
    far = f" {waiver.until.year}" if abs(waiver.until - today) > dt.timedelta(days=180) else ""
    return f"until {day}{far}" if waiver.until >= today else f"until {day}{far}, which is over,"


def data(said: Said) -> dict[str, Any]:
    """The same for programs, with every claim."""
    return {
        "about": said.about,
        "safe": [{"range": text, "said_by": places} for text, places in said.safe],
        "hazard": said.hazard,
        "before": value_data(said.before) if said.before else None,
        "after": value_data(said.after) if said.after else None,
    }


def value_data(value: SaidOfValue) -> dict[str, Any]:
    """What is known of one value, for programs."""
    return {
        "outcome": value.outcome,
        "why": value.why,
        "claims": [claim.model_dump(mode="json") for claim in value.claims],
        "waiver": value.waiver,
    }


def _sentence(text: str | None) -> str:
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""


def wrapped(text: str) -> Iterator[str]:
    """The text below a numbered line; an address is never broken."""
    yield from wrap(
        text, _WIDE, initial_indent=_INDENT, subsequent_indent=_INDENT, break_long_words=False, break_on_hyphens=False
    )
