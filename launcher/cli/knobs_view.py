"""How a knob reads on a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Any

from launcher.cli.said_view import until
from launcher.knobs import EnvKnob, Flag, Remark
from launcher.knobs.catalogue import Catalogue, Entry
from launcher.knobs.declaration import Claim, Declaration
from launcher.knobs.judging import safe_text
from launcher.operations.explaining import Explained
from launcher.operations.knob_values import Here, Turn

_WIDE = 44
_IDLE = frozenset({"unread", "read-as", "overwritten", "renamed", "flipped", "removed"})
"""Remarks of the harvest after which a value does nothing, or not what it says."""
_PAGE = 100
"""Columns of an explanation."""
_TYPES = {
    "int": "whole number",
    "float": "number",
    "bool": "switch",
    "str": "text",
    "list": "list",
    "path": "path",
    "json": "JSON",
}


def row(entry: Entry) -> tuple[str, str, str, str, str]:
    """A line of the list."""
    one = entry.declaration
    safe = safe_text(one)
    bad = ", ".join(bad.value or str(bad) for bad in one.bad)
    statuses = sorted({claim.status for claim in one.claims})
    cut = safe if len(safe) <= _WIDE else f"{safe[: _WIDE - 3]}..."
    return one.name, one.component, cut, bad, ", ".join(statuses)


def data(entry: Entry, known: Catalogue) -> dict[str, Any]:
    """A knob as JSON: its declaration with all layers, and where they stand."""
    name = entry.declaration.name
    merged = known.get(name) or entry.declaration
    places = [each.place for each in known.entries(name)]
    return {**merged.model_dump(mode="json"), "declared_in": places}


def explained_data(e: Explained) -> dict[str, Any]:
    """An explanation as JSON."""
    return {
        "name": e.name,
        "declarations": [{**x.declaration.model_dump(mode="json"), "place": x.place} for x in e.entries],
        "engine": _engine_data(e.engine) if e.engine else None,
        "source": e.source,
        "profile": e.site,
        "values": {"of": e.where, "services": [_here(each) for each in e.here]},
        "running": list(e.live),
        "proof": list(e.proof),
        "history": [
            {
                "generation": turn.generation,
                "at": turn.at,
                "by": turn.by,
                "why": turn.why,
                "before": turn.before,
                "after": turn.after,
                "waiver": turn.waiver,
                "services": [_here(here) for here in turn.values],
            }
            for turn in e.history
        ],
    }


def _here(here: Here) -> dict[str, str | None]:
    return {"service": here.service, "value": here.value, "origin": here.origin}


def _engine_data(found: EnvKnob | Flag) -> dict[str, Any]:
    plain = {"declared": str(found.declared) if found.declared else None, "default": str(found.default)}
    if isinstance(found, Flag):
        return {**plain, "kind": "flag", "type": found.type, "options": list(found.options)}
    reads = [str(read.place) for read in found.reads if read.place.part == "server"]
    return {
        **plain,
        "kind": "env",
        "type": found.kind,
        "reads": reads,
        "writes": [str(write.place) for write in found.writes if write.place.part == "server"],
        "remarks": [remark.text for remark in found.remarks],
    }


def explained(e: Explained) -> str:
    """An explanation as text: one label for each kind of answer."""
    one = e.entries[0].declaration if e.entries else None
    first, *about = _title(e)
    lines = [first, *_labelled("no effect", _no_effect(e)), *about]
    lines += _labelled("acts on", [_acts(one)] if one else [])
    lines += _labelled("now", list(_now(e)))
    lines += _labelled("running", list(_running(e)))
    for entry in e.entries:
        lines += _judged(entry)
    lines += _labelled("profile", [e.site] if e.site else [])
    lines += _labelled("engine", _read(e))
    lines += _labelled("proof here", [str(each) for each in e.proof])
    claims = [c for entry in e.entries for c in entry.declaration.claims]
    lines += ["", *_labelled("said by", [_claim(c) for c in claims], deeper=12)] if claims else []
    lines += ["", *_labelled("history", [_turned(turn) for turn in e.history])] if e.history else []
    if not e.entries and isinstance(e.engine, EnvKnob):
        lines.append(f'\nnobody has declared it: pdlaunch declare {e.name} --value VALUE --why "..."')
    return "\n".join(lines)


def _no_effect(e: Explained) -> list[str]:
    """Why it does nothing, where that is known: then it is the answer, and comes first."""
    remarks = e.engine.remarks if isinstance(e.engine, EnvKnob) else ()
    return [_remark(remark) for remark in remarks if remark.code in _IDLE]


def _remark(remark: Remark) -> str:
    return f"{remark.text}{f'  {remark.place}' if remark.place else ''}"


def _labelled(label: str, texts: list[str], deeper: int = 0) -> Iterator[str]:
    """The label before the first text, each text wrapped below itself; an address is never broken."""
    for index, text in enumerate(texts):
        head = f"  {label if index == 0 else '':<11} "
        below = " " * (len(head) + deeper)
        yield from wrap(
            text,
            _PAGE,
            initial_indent=head,
            subsequent_indent=below,
            break_long_words=False,
            break_on_hyphens=False,
            drop_whitespace=True,
        )


def _title(e: Explained) -> Iterator[str]:
    if not e.entries:
        kind = "flag" if isinstance(e.engine, Flag) else "environment"
        yield f"{e.name}   {kind}, declared nowhere"
        return
    one = e.entries[0].declaration
    kind = {"env": "environment", "flag": "flag", "machine": "of the machine"}[one.kind]
    unit = f" in {one.unit}" if one.unit else ""
    fork = ", only in a fork" if one.only_fork else ""
    own = ", decided by the launcher" if one.owned else ""
    yield f"{e.name}   {_TYPES[one.type]}{unit}, {kind}, {one.component}{fork}{own}"
    yield from wrap(one.about, _PAGE, initial_indent="  ", subsequent_indent="  ")


def _now(e: Explained) -> Iterator[str]:
    """What each service is told; those that are told the same, for the same reason, on one line."""
    if e.where is None:
        return
    told: dict[tuple[str | None, str | None], list[str]] = {}
    for each in e.here:
        told.setdefault((each.value, each.origin), []).append(each.service)
    plain = all(value is None and origin is None for value, origin in told)
    if plain:
        yield f"unset     {e.where}"
        return
    for (value, origin), services in told.items():
        away = "     (taken away)" if value is None and origin else ""
        yield f"{', '.join(services)}: {value or 'unset'}     {origin or e.where}{away}"


def _running(e: Explained) -> Iterator[str]:
    """What the processes have, where it is not what is recorded, and what the engine made of it."""
    pending = [each for each in e.live if each.pending]
    for each in pending:
        yield f"{each.service}: {each.value or 'unset'}, pending restart"
    if e.live and not pending:
        yield f"as recorded, read from {', '.join(each.service for each in e.live)}"
    for each in e.live:
        if each.engine is not None:
            yield f"{each.service}: the engine itself made it {each.engine}"


def _judged(entry: Entry) -> Iterator[str]:
    one = entry.declaration
    yield from _labelled("safe", [f"{safe_text(one)}     {entry.place}"])
    yield from _labelled("why", [each.why for each in one.safe if each.why])
    if one.establish:
        yield from _labelled("to know", [one.establish])
    yield from _labelled("bad", [f'{bad}  "{bad.does}"' for bad in one.bad])
    if one.known and any(each.values or each.unset for each in one.safe):
        yield from _labelled("untested", ["everything else"])
    if one.default is not None:
        yield from _labelled("if unset", [one.default])
    if one.hazard:
        yield from _labelled("hazard", [one.hazard])


def _acts(one: Declaration) -> str:
    if one.kind == "machine":
        return "the machine: no line of a profile"
    over = f" over {' and '.join(one.transports)}" if one.transports else ""
    answers = "can change answers" if one.can_change_answers else "cannot change answers"
    context = "; its effect depends on the context length" if one.depends_on_context else ""
    return f"{', '.join(one.roles)}{over} (restart {one.restart}); {answers}{context}"


def _read(e: Explained) -> list[str]:
    if e.engine is None:
        return [f"{e.source} neither declares nor reads it"] if e.source and _engines(e) else []
    found = e.engine
    place = f"declared {found.declared}" if found.declared else "not in the registry"
    default = f", default {found.default}" if found.default is not None else ""
    lines = [f"{e.source}: {place}{default}"]
    if isinstance(found, EnvKnob):
        lines += [f"read at {read.place}" for read in found.reads if read.place.part == "server"][:4]
        lines += [_remark(remark) for remark in found.remarks if remark.code not in _IDLE]
    return lines


def _engines(e: Explained) -> bool:
    """Whether the engine would be expected to know the name."""
    return bool(e.entries) and e.entries[0].declaration.component in ("sglang", "router")


def _claim(claim: Claim) -> str:
    about = "  ".join(filter(None, (claim.date, claim.hardware)))
    return f"{claim.status:<10}  {claim.says}{f'  ({about})' if about else ''}  {claim.source}"


def _turned(turn: Turn) -> str:
    """``2026-12-01 13:22  38  unset -> 512  assistant  "+6 % short decode", waived until Fri 4 Dec``."""
    why = f'  "{turn.why}"' if turn.why else ""
    waived = f", waived {until(turn.waiver)}" if turn.waiver else ""
    when = turn.at[:16].replace("T", " ")
    return f"{when}  {turn.generation}  {turn.before or 'unset'} -> {turn.after or 'unset'}  {turn.by}{why}{waived}"
