"""Sweeps a whole tree for uses of the environment: which files can matter, which helpers they share, then each file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from launcher.knobs.facts import DynamicRead, Note, Place, Read, Write
from launcher.knobs.harvest.environment import may_use
from launcher.knobs.harvest.files import COMPILED, PYTHON
from launcher.knobs.harvest.helpers import Helper, Helpers
from launcher.knobs.harvest.native import scan_native
from launcher.knobs.harvest.perfile import FileFacts, outdated
from launcher.knobs.harvest.processes import cores, in_processes
from launcher.knobs.harvest.scan import scan
from launcher.knobs.harvest.source import SourceTree
from launcher.knobs.harvest.uses import Uses

_GLUED = re.compile(rb"SGL(?:ANG)?_[A-Z0-9_]{3,}")
_WORTH_A_PROCESS = 4_000_000  # bytes of source; less is scanned before a Python has started
_MOST_PROCESSES = 4  # each holds a share of the sources
_OPENS = re.compile(rb"\s*\(")
_NAME = re.compile(rb"SGL(?:ANG)?_[A-Z0-9][A-Z0-9_]*[A-Z0-9]\b")


@dataclass(slots=True)
class Found:
    """What the files of a tree do with the environment, by variable."""

    reads: dict[str, list[Read]] = field(default_factory=dict)
    writes: dict[str, list[Write]] = field(default_factory=dict)
    dynamic: list[DynamicRead] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    mentions: dict[str, Place] = field(default_factory=dict)
    """Names of SGLang's namespace anywhere in Python files, comments included, with the first place."""
    compiled: dict[str, Place] = field(default_factory=dict)
    """Texts of that namespace in compiled libraries; see `EngineKnobs.compiled`."""
    quoted: dict[str, Place] = field(default_factory=dict)
    """Of the mentions, names that stand alone in quotes in the server's code: it may use them by value."""


def sweep(
    root: Path,
    package: str,
    files: Iterable[str],
    *,
    known: Mapping[str, FileFacts] | None = None,
    unchanged: Iterable[str] = (),
    everything: bool = False,
) -> dict[str, FileFacts]:
    """What each of `files` of the tree at `root` does with the environment.

    Of `known`, a former sweep, what it says of the `unchanged` files is kept where that is still true. With
    `everything`, no file and no line is passed over: the same answer, many times as slow.
    """
    listed = list(files)
    if known:
        kept = set(unchanged) & known.keys()
        changed = (set(listed) | known.keys()) - kept
        kept -= set(outdated(known, changed))
        found = {file: known[file] for file in listed if file in kept}
        helpers = Helpers()
        helpers.add(helper for facts in known.values() for helper in facts.uses.helpers)
        _Sweep(root, package, found, everything=everything).add((file for file in listed if file not in kept), helpers)
        # A helper that came, went or changed means something to files that did not change.
        if _identities(found) == _identities(known):
            return {file: found[file] for file in listed}
    found = {}
    _Sweep(root, package, found, everything=everything).add(listed, Helpers())
    return found


def _identities(found: Mapping[str, FileFacts]) -> set[Helper]:
    return {helper.identity for facts in found.values() for helper in facts.uses.helpers}


@dataclass(frozen=True, slots=True)
class Share:
    """Files for one process to scan, and what it has to know."""

    root: str
    package: str
    sources: Mapping[str, bytes]
    helpers: Helpers
    everything: bool


def scan_share(share: Share) -> list[Uses | Note]:
    """What is in each file of the share, in order."""
    tree = SourceTree(Path(share.root), name=share.package)
    return [
        scan(source, file, tree, share.helpers, everything=share.everything) for file, source in share.sources.items()
    ]


def _parts(sizes: Mapping[str, int], count: int) -> list[list[str]]:
    """The files in `count` parts of about equal size."""
    parts: list[list[str]] = [[] for _ in range(count)]
    totals = [0] * count
    for file in sorted(sizes, key=lambda each: (-sizes[each], each)):
        smallest = totals.index(min(totals))
        parts[smallest].append(file)
        totals[smallest] += sizes[file]
    return parts


class _Sweep:
    """Scans files until no new helper turns up."""

    def __init__(self, root: Path, package: str, found: dict[str, FileFacts], *, everything: bool) -> None:
        self._root = root
        self._package = package
        self._found = found
        self._everything = everything

    def add(self, files: Iterable[str], helpers: Helpers) -> None:
        """Scans `files`, knowing `helpers`; those that they add are used on all of them."""
        python = self._sources(files)
        pending = [file for file, source in python.items() if self._can_matter(source, helpers.by_name)]
        while pending:
            new: set[str] = set()
            for file, scanned in self._scanned({file: python[file] for file in pending}, helpers):
                if isinstance(scanned, Note):
                    self._found[file].notes = [scanned]
                else:
                    self._found[file].uses = scanned
            for file in python:
                new |= helpers.add(self._found[file].uses.helpers)
            # A helper may be called in any file, and a caller that leaves the name to its own callers is one, too.
            pending = [file for file, source in python.items() if new and _calls(source, new)]

    def _scanned(self, sources: Mapping[str, bytes], helpers: Helpers) -> Iterator[tuple[str, Uses | Note]]:
        """Each file with what is in it; in several processes where there is more than a second of work."""
        sizes = {file: len(source) for file, source in sources.items()}
        count = max(1, min(cores(), _MOST_PROCESSES, sum(sizes.values()) // _WORTH_A_PROCESS))
        parts = _parts(sizes, count)
        shares = [
            Share(str(self._root), self._package, {file: sources[file] for file in part}, helpers, self._everything)
            for part in parts
        ]
        for part, scanned in zip(parts, in_processes(scan_share, shares), strict=True):
            yield from zip(part, scanned, strict=True)

    def _can_matter(self, source: bytes, names: Iterable[str]) -> bool:
        return self._everything or may_use(source) or _calls(source, names)

    def _sources(self, files: Iterable[str]) -> dict[str, bytes]:
        """The Python sources; native ones are scanned on the way, since a text search is all that they need."""
        sources: dict[str, bytes] = {}
        for file in files:
            facts = self._found[file] = FileFacts()
            try:
                source = (self._root / file).read_bytes()
            except OSError as error:
                facts.notes.append(Note(Place(file, 1), f"cannot be read: {error.strerror}"))
                continue
            if file.endswith(PYTHON):
                facts.names = _names_in(source)
                sources[file] = source
            elif file.endswith(COMPILED):
                facts.names = {match.decode(): (0, 0) for match in _GLUED.findall(source)}
            else:
                reads, dynamic = scan_native(source, file)
                facts.uses = Uses(reads=reads, dynamic=dict.fromkeys(dynamic))
        return sources


def _calls(source: bytes, names: Iterable[str]) -> bool:
    """Whether one of `names` is followed by a parenthesis somewhere in the file."""
    # Most names share one of two syllables, and a text without it rules out all of these at once.
    absent = [syllable for syllable in ("env", "Env") if syllable.encode() not in source]
    chosen = [name.encode() for name in names if not any(syllable in name for syllable in absent)]
    return any(_is_called(source, word) for word in chosen)


def _is_called(source: bytes, word: bytes) -> bool:
    position = source.find(word)
    while position >= 0:
        before = source[position - 1 : position]
        if not before.isalnum() and before != b"_" and _OPENS.match(source, position + len(word)):
            return True
        position = source.find(word, position + len(word))
    return False


def _names_in(source: bytes) -> dict[str, tuple[int, int]]:
    """The names of SGLang's namespace in a text: the first line of each, and the first on which it is quoted alone."""
    found: dict[str, tuple[int, int]] = {}
    for match in _NAME.finditer(source):
        name = match.group().decode()
        before, after = source[match.start() - 1 : match.start()], source[match.end() : match.end() + 1]
        is_quoted = before in (b"'", b'"') and after == before
        first, quoted = found.get(name, (0, 0))
        if not first or (is_quoted and not quoted):
            line = source.count(b"\n", 0, match.start()) + 1
            found[name] = (first or line, quoted or (line if is_quoted else 0))
    return found


def joined(facts: Mapping[str, FileFacts]) -> Found:
    """The uses in all files, by variable."""
    found = Found()
    for file in sorted(facts):
        each = facts[file]
        for name, read in each.uses.reads:
            found.reads.setdefault(name, []).append(read)
        for name, write in each.uses.writes:
            found.writes.setdefault(name, []).append(write)
        found.dynamic += each.uses.dynamic
        found.notes += each.notes
        if file.endswith(COMPILED):
            found.compiled |= {name: Place(file, 0) for name in each.names if name not in found.compiled}
            continue
        for name, (first, quoted) in each.names.items():
            found.mentions.setdefault(name, Place(file, first))
            # The registry and its deprecations quote names without using them.
            if quoted and not file.endswith("environ.py") and Place(file, quoted).part == "server":
                found.quoted.setdefault(name, Place(file, quoted))
    found.dynamic = sorted({*found.dynamic, *_uncalled(facts.values())}, key=str)
    found.notes.sort()
    return found


def _uncalled(facts: Iterable[FileFacts]) -> Iterator[DynamicRead]:
    """The helpers for which no call in the tree says which variable they read."""
    everywhere = list(facts)
    called = {helper.identity[:9] for each in everywhere for helper in each.uses.called}
    for each in everywhere:
        for helper in each.uses.helpers:
            if helper.kind == "function" and helper.identity[:9] not in called:
                yield DynamicRead(Place(helper.file, helper.line), f"{helper.name}({helper.parameter})")
