"""Puts declarations and uses together, and says where a declaration promises more than the engine keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from launcher.knobs.facts import EnvKnob, Place, Read, Reader, Remark, Unevaluated, Value, Write
from launcher.knobs.harvest.sweep import Found
from launcher.knobs.lookup import flipped

_OWN = ("SGLANG_", "SGL_")


def judged(declared: Mapping[str, EnvKnob], found: Found) -> dict[str, EnvKnob]:
    """Every variable that is declared, read or set, with its reads, writes and remarks, by name."""
    knobs: dict[str, EnvKnob] = {}
    for name in sorted({*declared, *found.reads, *found.writes}):
        reads = tuple(sorted(found.reads.get(name, ()), key=_place))
        writes = tuple(sorted(found.writes.get(name, ()), key=_place))
        knob = declared.get(name) or _undeclared(name, reads)
        knobs[name] = replace(knob, reads=reads, writes=writes)
    return {name: replace(knob, remarks=tuple(_remarks(knob, knobs, found))) for name, knob in knobs.items()}


def _place(use: Read | Write) -> Place:
    return use.place


def _undeclared(name: str, reads: tuple[Read, ...]) -> EnvKnob:
    """What the places that read a variable agree on; the server's own count first."""
    own = [read for read in reads if read.place.part == "server"] or list(reads)
    readers = [read.reader for read in own if read.reader is not None]
    telling = {reader.kind: reader for reader in readers if reader.kind not in ("unknown", "presence")}
    if not telling and readers and all(reader.kind == "presence" for reader in readers):
        return EnvKnob(name, "presence", reader=readers[0])
    kind = next(iter(telling)) if len(telling) == 1 else ("mixed" if telling else "unknown")
    defaults = [read.default for read in own if read.reader is None or read.reader.kind != "presence"]
    return EnvKnob(name, kind, default=_agreed(defaults), reader=_narrowest(kind, readers))


def _agreed(defaults: list[Value]) -> Value:
    return defaults[0] if defaults and all(each == defaults[0] for each in defaults) else None


def _narrowest(kind: str, readers: list[Reader]) -> Reader | None:
    """Of several readers of a kind the one that takes the fewest spellings: what it takes, all take."""
    fitting = [reader for reader in readers if reader.kind == kind]
    return min(fitting, key=lambda reader: (len(reader.true) or 99, len(reader.false) or 99), default=None)


def _remarks(knob: EnvKnob, knobs: Mapping[str, EnvKnob], found: Found) -> Iterator[Remark]:
    if knob.deprecated_at is not None:
        yield _deprecated(knob, knob.deprecated_at)
    if knob.declared is not None and not knob.read:
        yield from _unread(knob, knobs, found)
    yield from _overwritten(knob)
    reads = [read for read in knob.reads if read.place.part == "server"]
    if reads and not any(_on_nvidia(read.platforms) for read in reads):
        named = ", ".join(sorted({name for read in reads for name in read.platforms}))
        yield Remark("platform", f"read only by code for {named}", reads[0].place)


def _deprecated(knob: EnvKnob, place: Place) -> Remark:
    if knob.replaced_by is None:
        return Remark("removed", f"deprecated: {knob.deprecated}".removesuffix(": "), place)
    if flipped(knob.name, (knob.replaced_by,)) is not None:
        return Remark("flipped", f"renamed to its opposite {knob.replaced_by}, to which the engine copies it", place)
    return Remark("renamed", f"renamed: the engine copies its value to {knob.replaced_by}", place)


def _on_nvidia(platforms: tuple[str, ...]) -> bool:
    return not platforms or any(name == "cuda" or name.startswith("sm") for name in platforms)


def _unread(knob: EnvKnob, knobs: Mapping[str, EnvKnob], found: Found) -> Iterator[Remark]:
    for other in _other_names(knob.name):
        if other in knobs and knobs[other].read:
            place = next(read.place for read in knobs[other].reads if read.place.part == "server")
            yield Remark("read-as", f"nothing reads it: the engine reads {other}", place)
            return
    compiled = next((place for text, place in found.compiled.items() if knob.name in text), None)
    if compiled is not None:
        yield Remark("compiled", "no source reads it, but a compiled library has its name", compiled)
    elif knob.name in found.quoted:
        yield Remark("by-name", "read only where its name is computed, if at all", found.quoted[knob.name])
    elif knob.reads:
        parts = sorted({read.place.part for read in knob.reads})
        yield Remark("unread", f"the server does not read it, only: {', '.join(parts)}", knob.reads[0].place)
    elif knob.name.startswith(_OWN):
        yield Remark("unread", "declared, but nothing reads it", knob.declared)
    else:
        yield Remark("elsewhere", "the engine declares it and does not read it; a library may", knob.declared)


def _other_names(name: str) -> Iterator[str]:
    """Under which names a variable was known before it got its prefix."""
    for prefix in _OWN:
        if name.startswith(prefix):
            rest = name.removeprefix(prefix)
            yield from (rest, f"SGL_{rest}", f"SGLANG_{rest}")


def _overwritten(knob: EnvKnob) -> Iterator[Remark]:
    for write in knob.writes:
        if write.how == "set" and write.place.part == "server" and _on_nvidia(write.platforms):
            value = f"the value of {write.value.source}" if isinstance(write.value, Unevaluated) else repr(write.value)
            condition = f" when {write.when}" if write.when else ""
            yield Remark("overwritten", f"the engine sets it to {value}{condition}", write.place)
