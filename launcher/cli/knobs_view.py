"""How a knob reads on a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from launcher.knobs import EnvKnob, Flag
from launcher.knobs.catalogue import Catalogue, Entry
from launcher.knobs.declaration import Claim, Declaration
from launcher.knobs.judging import safe_text
from launcher.operations.explaining import Changed, Explained, Here

_WIDE = 44


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
        "history": [
            {"generation": c.generation, "at": c.at, "by": c.by, "why": c.why, "services": [_here(h) for h in c.values]}
            for c in e.history
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
    lines = [_title(e)]
    lines += _labelled("now", _now(e))
    for entry in e.entries:
        lines += _judged(entry)
    lines += _labelled("profile", [e.site] if e.site else [])
    lines += _labelled("engine", _read(e))
    lines += _labelled("said by", [_claim(c) for entry in e.entries for c in entry.declaration.claims])
    lines += _labelled("history", [_changed(c) for c in e.history])
    if not e.entries and isinstance(e.engine, EnvKnob):
        lines.append(f'\nnobody has declared it: pdlaunch declare {e.name} --value VALUE --why "..."')
    return "\n".join(lines)


def _labelled(label: str, texts: list[str]) -> Iterator[str]:
    for index, text in enumerate(texts):
        yield f"  {label if index == 0 else '':<11} {text}"


def _title(e: Explained) -> str:
    if not e.entries:
        kind = "flag" if isinstance(e.engine, Flag) else "environment"
        return f"{e.name}   {kind}, declared nowhere"
    one = e.entries[0].declaration
    kind = {"env": "environment", "flag": "flag", "machine": "of the machine"}[one.kind]
    unit = f" in {one.unit}" if one.unit else ""
    fork = ", only in a fork" if one.only_fork else ""
    own = ", decided by the launcher" if one.owned else ""
    return f"{e.name}   {one.type}{unit}, {kind}, {one.component}{fork}{own}\n  {one.about}"


def _now(e: Explained) -> list[str]:
    if e.where is None:
        return []
    told = [each for each in e.here if each.value is not None]
    if not told:
        return [f"unset     {e.where}"]
    return [f"{each.service}: {each.value}     {each.origin or e.where}" for each in told]


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
    yield from _labelled("acts on", [_acts(one)])


def _acts(one: Declaration) -> str:
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
        lines += [f"{remark.text}{f'  {remark.place}' if remark.place else ''}" for remark in found.remarks]
    return lines


def _engines(e: Explained) -> bool:
    """Whether the engine would be expected to know the name."""
    return bool(e.entries) and e.entries[0].declaration.component in ("sglang", "router")


def _claim(claim: Claim) -> str:
    about = "  ".join(filter(None, (claim.date, claim.hardware)))
    return f"{claim.status:<10}  {claim.says}{f'  ({about})' if about else ''}  {claim.source}"


def _changed(change: Changed) -> str:
    values = ", ".join(f"{each.service}: {each.value or 'unset'}" for each in change.values if each.value) or "unset"
    why = f'  "{change.why}"' if change.why else ""
    return f"{change.at}  generation {change.generation}  {values}  {change.by}{why}"
