"""Sweeps a whole tree for uses of the environment: which files can matter, which helpers they share, then each file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from launcher.knobs.facts import DynamicRead, Note, Place, Read, Write
from launcher.knobs.harvest.environment import may_use
from launcher.knobs.harvest.files import NATIVE, PYTHON
from launcher.knobs.harvest.helpers import Helpers
from launcher.knobs.harvest.native import scan_native
from launcher.knobs.harvest.scan import scan
from launcher.knobs.harvest.source import SourceTree
from launcher.knobs.harvest.uses import Uses

_NAME = re.compile(rb"SGL(?:ANG)?_[A-Z0-9][A-Z0-9_]*[A-Z0-9]\b")


@dataclass(slots=True)
class Found:
    """What the files of a tree do with the environment."""

    reads: dict[str, list[Read]] = field(default_factory=dict)
    writes: dict[str, list[Write]] = field(default_factory=dict)
    dynamic: list[DynamicRead] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    mentions: dict[str, Place] = field(default_factory=dict)
    """Names of SGLang's namespace anywhere in Python files, comments included, with the first place."""
    quoted: dict[str, Place] = field(default_factory=dict)
    """Of these, names that stand alone in quotes outside the registry: code may use them by value."""

    def take(self, uses: Uses) -> None:
        """Adds the uses of one more file."""
        for name, read in uses.reads:
            self.reads.setdefault(name, []).append(read)
        for name, write in uses.writes:
            self.writes.setdefault(name, []).append(write)
        self.dynamic += uses.dynamic


def sweep(root: Path, package: str, files: Iterable[str], *, everything: bool = False) -> Found:
    """The uses in `files` of the tree at `root`.

    With `everything`, no file and no line is passed over: the same answer, many times as slow.
    """
    found = Found()
    python = _sources(root, files, found)
    tree, helpers = SourceTree(root, name=package), Helpers()
    uses: dict[str, Uses] = {}
    pending = [file for file, source in python.items() if everything or may_use(source)]
    while pending:
        new: set[str] = set()
        for file in pending:
            scanned = scan(python[file], file, tree, helpers, everything=everything)
            if isinstance(scanned, Note):
                found.notes.append(scanned)
            else:
                uses[file] = scanned
        for each in uses.values():
            new |= helpers.add(each.helpers)
        # A helper may be called in any file, and a caller that leaves the name to its own callers is one, too.
        names = [name.encode() for name in sorted(new)]
        pending = [file for file, source in python.items() if _calls(source, names)]
    for file in sorted(uses):
        found.take(uses[file])
    found.dynamic = sorted({*found.dynamic, *_uncalled(helpers, uses.values())})
    found.notes = sorted(set(found.notes))
    return found


def _uncalled(helpers: Helpers, uses: Iterable[Uses]) -> Iterator[DynamicRead]:
    """The helpers for which no call in the tree says which variable they read."""
    called = {helper[:9] for each in uses for helper in each.called}
    for helper in helpers.all():
        if helper.kind == "function" and helper[:9] not in called:
            yield DynamicRead(Place(helper.file, helper.line), f"{helper.name}({helper.parameter})")


def _calls(source: bytes, names: Iterable[bytes]) -> bool:
    """Whether one of `names` is followed by a parenthesis somewhere in the file."""
    has_env = b"env" in source  # rules out most names in most files at once
    present = [name for name in names if (has_env or b"env" not in name) and name in source]
    return bool(present) and re.search(rb"\b(?:" + b"|".join(present) + rb")\s*\(", source) is not None


def _sources(root: Path, files: Iterable[str], found: Found) -> dict[str, bytes]:
    """The Python sources; native ones are scanned on the way, since a text search is all that they need."""
    sources: dict[str, bytes] = {}
    for file in files:
        source = _read(root / file, file, found.notes)
        if file.endswith(PYTHON):
            _note_names(source, file, found)
            sources[file] = source
        elif file.endswith(NATIVE):
            reads, dynamic = scan_native(source, file)
            found.take(Uses(reads=reads, dynamic=dict.fromkeys(dynamic)))
    return sources


def _note_names(source: bytes, file: str, found: Found) -> None:
    for match in _NAME.finditer(source):
        name = match.group().decode()
        before, after = source[match.start() - 1 : match.start()], source[match.end() : match.end() + 1]
        is_quoted = before in (b"'", b'"') and after == before and not file.endswith("environ.py")
        if name not in found.mentions or (is_quoted and name not in found.quoted):
            place = Place(file, source.count(b"\n", 0, match.start()) + 1)
            found.mentions.setdefault(name, place)
            if is_quoted and place.part == "server":
                found.quoted.setdefault(name, place)


def _read(path: Path, file: str, notes: list[Note]) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        notes.append(Note(Place(file, 1), f"cannot be read: {error.strerror}"))
        return b""
