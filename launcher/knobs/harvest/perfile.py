"""What a sweep keeps of each file, so that an edit of one file does not mean reading five thousand again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from launcher.knobs.facts import DynamicRead, Note, Place
from launcher.knobs.harvest.codec import decode_read, decode_reader, decode_write, encode
from launcher.knobs.harvest.helpers import Helper
from launcher.knobs.harvest.uses import Uses


@dataclass(slots=True)
class FileFacts:
    """What one file does with the environment, and which names of SGLang's namespace its text mentions."""

    uses: Uses = field(default_factory=Uses)
    notes: list[Note] = field(default_factory=list)
    names: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Name to its first line, and to the first on which it stands alone in quotes; 0 where it does not."""

    def row(self) -> list[Any]:
        """The facts as JSON data."""
        uses = self.uses
        helpers, called = uses.helpers, sorted(uses.called, key=repr)
        parts = (tuple(uses.reads), tuple(uses.writes), tuple(uses.dynamic), tuple(helpers), tuple(called))
        return [*(encode(part) for part in parts), list(uses.depends), encode(tuple(self.notes)), self.names]


def facts_of(row: list[Any]) -> FileFacts:
    """What `FileFacts.row` made JSON of."""
    reads, writes, dynamic, helpers, called, depends, notes, names = row
    uses = Uses(
        reads=[(name, decode_read(read)) for name, read in reads],
        writes=[(name, decode_write(write)) for name, write in writes],
        dynamic={DynamicRead(Place(*place), *rest): None for place, *rest in dynamic},
        helpers=dict.fromkeys(map(_helper, helpers)),
        called=set(map(_helper, called)),
        depends=tuple(depends),
    )
    found = {name: (first, quoted) for name, (first, quoted) in names.items()}
    return FileFacts(uses, [Note(Place(*place), text) for place, text in notes], found)


def _helper(row: list[Any]) -> Helper:
    *rest, reader = row
    known = decode_reader(reader)
    if known is None:
        raise ValueError("a helper without a reader")
    return Helper._make([*rest, known])


def outdated(known: Mapping[str, FileFacts], changed: set[str]) -> Iterator[str]:
    """The files of `known` that did not change and yet must be read again: a name in them comes from one that did."""
    for file, facts in known.items():
        if file not in changed and not changed.isdisjoint(facts.uses.depends):
            yield file
