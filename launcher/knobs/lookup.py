"""Finds a flag or a variable by name, and says what was probably meant where there is none. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from launcher.knobs.facts import EngineKnobs, EnvKnob, Flag, Place


@dataclass(frozen=True, slots=True)
class Abbreviation:
    """A prefix of longer options. The engine's parser takes it if there is one candidate, and refuses it as
    ambiguous otherwise."""

    candidates: tuple[str, ...]
    """The long options that begin with it, twins included, in the parser's order."""

    @property
    def ambiguous(self) -> bool:
        """Whether the engine's parser refuses it."""
        return len(self.candidates) > 1


@dataclass(frozen=True, slots=True)
class Unknown:
    """No such name; `nearest` holds the most likely ones, best first."""

    nearest: tuple[str, ...]


def find_flag(knobs: EngineKnobs, name: str) -> Flag | Abbreviation | Unknown:
    """The flag that the engine's argument parser takes `name` for; `name` without dashes in front.

    As argparse has it (https://docs.python.org/3.11/library/argparse.html#prefix-matching): an exact option first,
    twins such as ``no-x`` included, then options that begin with it. Two spellings of one flag are two candidates.
    """
    if name in knobs.flags:
        return knobs.flags[name]
    spelled = {option: flag for flag in knobs.flags.values() for option in flag.spellings}
    if name in spelled:
        return spelled[name]
    candidates = tuple(option for option in spelled if option.startswith(name)) if name else ()
    return Abbreviation(candidates) if candidates else Unknown(nearest(name, spelled))


def find_env(knobs: EngineKnobs, name: str) -> EnvKnob | Unknown:
    """The variable of that name that the engine declares, reads or sets."""
    if name in knobs.env:
        return knobs.env[name]
    return Unknown(nearest(name, knobs.env))


def compiled_at(knobs: EngineKnobs, name: str) -> Place | None:
    """The compiled library of the engine that has `name` among its texts; None where none has.

    Compilers glue texts together: a name ends where the next one begins, or before the digits of a number formatter.
    """
    if name in knobs.compiled:
        return knobs.compiled[name]
    glued = ((part, place) for text, place in knobs.compiled.items() for part in _PARTS.split(text))
    return next((place for part, place in glued if part.removesuffix("0123456789") == name), None)


_PARTS = re.compile(r"(?<=[A-Z0-9])(?=SGL(?:ANG)?_)")


def flipped(name: str, names: Iterable[str]) -> str | None:
    """The one of `names` that says the opposite of `name`, such as ENABLE for DISABLE; None where there is none.

    Its value has to be turned round: to write it in the place of `name` with the same value would do the opposite.
    """
    opposites = {_plain(opposite) for opposite in _opposites(_split(name))}
    return next((each for each in names if _plain(each) in opposites), None)


_NEGATIVE = frozenset({"disable", "disabled", "no", "skip", "without"})
_POSITIVE = frozenset({"enable", "enabled", "use", "with"})


def _split(name: str) -> list[str]:
    words = _plain(name).split("_")
    return ["sglang", *words[1:]] if words[0] == "sgl" else words


def _opposites(words: list[str]) -> Iterator[str]:
    for at, word in enumerate(words):
        before, after = words[:at], words[at + 1 :]
        if word in _NEGATIVE:
            yield from ("_".join([*before, *other, *after]) for other in ([], *([each] for each in _POSITIVE)))
        elif word in _POSITIVE:
            yield from ("_".join([*before, other, *after]) for other in _NEGATIVE)
    if not _NEGATIVE.isdisjoint(words) or not _POSITIVE.isdisjoint(words):
        return
    start = 1 if words[0] in ("sglang", "nccl", "ucx") else 0
    yield from ("_".join([*words[:start], other, *words[start:]]) for other in _NEGATIVE)


def nearest(name: str, names: Iterable[str], n: int = 3) -> tuple[str, ...]:
    """At most `n` of `names` that `name` may have been meant for, best first; none where nothing is close.

    Close are a few letters lost, added, replaced or swapped, another case, another prefix or word order.
    """
    written = _plain(name)
    letters = Counter(written)
    scored = []
    for candidate in dict.fromkeys(names):
        score = 0.0 if candidate == name else _distance(written, letters, _plain(candidate))
        if score is not None:
            scored.append((score, candidate))
    scored.sort(key=lambda each: (each[0], not each[1].startswith("SGLANG_"), each[1]))
    return tuple(candidate for _, candidate in scored[:n])


def _distance(written: str, letters: Counter[str], known: str) -> float | None:
    """How far `known` is from `written`, in letters; None beyond what a slip explains."""
    if written == known:
        return 0.1
    limit = max(2, len(written) // 5)
    # An edit changes at most one letter on each side, which rules out most names without comparing them.
    apart = max(sum((letters - Counter(known)).values()), sum((Counter(known) - letters).values()))
    edits = _edits(written, known, limit) if apart <= limit else None
    words = _word_distance(written, known)
    return min((float(each) for each in (edits, words) if each is not None), default=None)


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").strip("_")


def _word_distance(written: str, known: str) -> float | None:
    """Names that share their words, less a prefix or in another order: one and a half per word that differs."""
    left, right = written.split("_"), known.split("_")
    if left == right[1:] or right == left[1:]:
        return 0.9  # less likely than another case, likelier than any letter
    if len(left) > 2 and left[1:] == right[1:]:
        return 1.0
    common = len(set(left) & set(right))
    differing = max(len(left), len(right)) - common
    if common < 2 or differing > 2 or differing >= common:
        return None
    return 1.5 * differing if differing else 0.5


def _edits(left: str, right: str, limit: int) -> int | None:
    """Letters to lose, add, replace or swap with their neighbour (optimal string alignment); None above `limit`."""
    if abs(len(left) - len(right)) > limit:
        return None
    before: list[int] = []
    above = list(range(len(right) + 1))
    for row, letter in enumerate(left, 1):
        current = [row]
        for column, other in enumerate(right, 1):
            cost = min(above[column] + 1, current[column - 1] + 1, above[column - 1] + (letter != other))
            if row > 1 and column > 1 and letter == right[column - 2] and left[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return None
        before, above = above, current
    return above[-1] if above[-1] <= limit else None
