"""What another version of an engine does to flags and variables: the facts of two harvests, side by side. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from launcher.knobs.facts import EngineKnobs, EnvKnob, Flag, Value
from launcher.knobs.lookup import flipped


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two engines."""

    kind: str
    """``added``, ``removed``, ``renamed``, ``flipped`` (renamed to its opposite), ``split`` (several flags now, all of
    which begin with it), ``deprecated``, ``default``, ``type``, ``choices``."""
    name: str
    new_name: str | None = None
    """What it is called now, where that changed."""
    old: Value = None
    new: Value = None
    certain: bool = True
    """False where a new name is only likely: one word apart, of the same type and default; no declaration says so."""


def flag_changes(old: EngineKnobs, new: EngineKnobs) -> tuple[Change, ...]:
    """How the flags of `old` fare in `new`, and which are new there, by name."""
    spelled = {spelling: flag for flag in new.flags.values() for spelling in flag.spellings}
    known = {spelling for flag in old.flags.values() for spelling in flag.spellings}
    fresh = {name: flag for name, flag in new.flags.items() if known.isdisjoint(flag.spellings)}
    found: list[Change] = []
    for name, flag in old.flags.items():
        now = spelled.get(name)
        if now is None:
            found.append(_gone_flag(flag, fresh))
        elif now.refused:
            found.append(Change("removed", name))
        else:
            found += _flag_differences(flag, now)
    return _with_added(found, fresh)


def env_changes(old: EngineKnobs, new: EngineKnobs) -> tuple[Change, ...]:
    """How the variables that `old` declares or reads fare in `new`, and which are new there, by name."""
    before = {name: knob for name, knob in old.env.items() if _is_known(knob)}
    after = {name: knob for name, knob in new.env.items() if _is_known(knob)}
    fresh = {name: knob for name, knob in after.items() if name not in before}
    found: list[Change] = []
    for name, knob in before.items():
        now = after.get(name)
        if now is None:
            said = new.env[name].replaced_by if name in new.env else None
            alike = {other: each for other, each in fresh.items() if _same_value(each, knob)}
            found.append(_gone(name, said, alike))
        else:
            found += _differences(name, knob, now, knob.kind, now.kind)
    return _with_added(found, fresh)


def _is_known(knob: EnvKnob) -> bool:
    retired = knob.deprecated_at is not None and knob.declared is None
    return not retired and (knob.declared is not None or knob.read)


def _same_value(one: EnvKnob, other: EnvKnob) -> bool:
    return (one.kind, one.default) == (other.kind, other.default)


def _gone_flag(flag: Flag, fresh: Mapping[str, Flag]) -> Change:
    parts = tuple(name for name in fresh if name.startswith(f"{flag.name}-"))
    if len(parts) > 1:
        return Change("split", flag.name, new=parts)
    same_field = next((each.name for each in fresh.values() if each.dest == flag.dest), None)
    alike = {name: each for name, each in fresh.items() if each.type == flag.type and each.default == flag.default}
    return _gone(flag.name, same_field, alike)


def _gone(name: str, said: str | None, alike: Mapping[str, Flag] | Mapping[str, EnvKnob]) -> Change:
    """A name that is not there any more; `said` is the new one by declaration, `alike` what could be it."""
    opposite = flipped(name, alike if said is None else (said,))
    if opposite is not None:
        return Change("flipped", name, opposite, certain=said is not None)
    if said is not None:
        return Change("renamed", name, said)
    likely = [other for other in alike if _one_word_apart(name, other)]
    return Change("renamed", name, likely[0], certain=False) if len(likely) == 1 else Change("removed", name)


def _one_word_apart(one: str, other: str) -> bool:
    left, right = one.replace("-", "_").split("_"), other.replace("-", "_").split("_")
    if len(left) == len(right):
        return len(left) > 2 and sum(a != b for a, b in zip(left, right, strict=True)) == 1
    shorter, longer = sorted((left, right), key=len)
    return len(shorter) > 2 and any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))


def _flag_differences(old: Flag, new: Flag) -> Iterator[Change]:
    if new.deprecated is not None and old.deprecated is None:
        yield Change("deprecated", old.name, new.replaced_by)
    yield from _differences(old.name, old, new, f"{old.type} {old.nargs or ''}", f"{new.type} {new.nargs or ''}")
    if isinstance(old.choices, tuple) and isinstance(new.choices, tuple) and old.choices != new.choices:
        lost = tuple(choice for choice in old.choices if choice not in new.choices)
        gained = tuple(choice for choice in new.choices if choice not in old.choices)
        if lost or gained:
            yield Change("choices", old.name, old=lost, new=gained)


def _differences(name: str, old: Flag | EnvKnob, new: Flag | EnvKnob, old_type: str, new_type: str) -> Iterator[Change]:
    if (type(old.default), old.default) != (type(new.default), new.default):
        yield Change("default", name, old=old.default, new=new.default)
    if old_type != new_type:
        yield Change("type", name, old=old_type.strip(), new=new_type.strip())


def _with_added(found: list[Change], fresh: Mapping[str, Flag] | Mapping[str, EnvKnob]) -> tuple[Change, ...]:
    taken = {change.new_name for change in found if change.certain}
    found += [Change("added", name) for name in fresh if name not in taken]
    return tuple(sorted(found, key=lambda change: (change.name, change.kind)))
