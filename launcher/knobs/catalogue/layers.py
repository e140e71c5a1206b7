"""The catalogue put together: a site and a user add names, and narrow what is said of those that are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from launcher.errors import InputError, Problem
from launcher.knobs.catalogue.compiled import Compiled
from launcher.knobs.catalogue.places import local_files, shipped_files
from launcher.knobs.catalogue.reading import read
from launcher.knobs.declaration import Bad, Claim, Declaration


@dataclass(frozen=True, slots=True)
class Entry:
    """What one file says of a knob."""

    declaration: Declaration
    file: Path
    line: int

    @property
    def place(self) -> str:
        """``file:line``, with the shipped catalogue's file by its name alone."""
        return f"{self.file.name if self.file.parent == Path(__file__).parent else self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Every declared knob by name, and for each the files that speak of it, the shipped one first."""

    layers: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        """Whether anybody has declared `name`."""
        return name in self.layers

    def __iter__(self) -> Iterator[str]:
        """The names, sorted."""
        return iter(sorted(self.layers))

    def __len__(self) -> int:
        """How many names there are."""
        return len(self.layers)

    def entries(self, name: str) -> tuple[Entry, ...]:
        """What is said of `name`, the shipped entry first; empty where nobody has declared it."""
        return self.layers.get(name, ())

    def get(self, name: str) -> Declaration | None:
        """The first entry of `name`, with the bad values and claims of the others beside its own."""
        entries = self.entries(name)
        if not entries:
            return None
        first, *others = (entry.declaration for entry in entries)
        bad: tuple[Bad, ...] = (*first.bad, *(each for other in others for each in other.bad))
        claims: tuple[Claim, ...] = (*first.claims, *(each for other in others for each in other.claims))
        return first.model_copy(update={"bad": bad, "claims": claims})


def catalogue(cache: Path | None = None) -> Catalogue:
    """The shipped catalogue under the site's and the user's; `cache` is a folder that keeps the shipped one compiled.

    Raises InputError where a local file is not a catalogue, with every problem and its line.
    """
    return layer(Compiled(cache).entries(shipped_files()), local_files())


def layer(shipped: Mapping[str, tuple[str, int, Declaration]], local: Iterable[Path]) -> Catalogue:
    """Local files over a shipped catalogue; raises InputError where one cannot be read."""
    here = Path(__file__).parent
    layers = {name: (Entry(declaration, here / file, line),) for name, (file, line, declaration) in shipped.items()}
    problems: list[Problem] = []
    for path in local:
        try:
            found = read(path, path.read_text(encoding="utf-8"))
        except InputError as error:
            problems += error.problems
            continue
        except (OSError, UnicodeDecodeError) as error:
            problems.append(Problem(where=str(path), subject="", error=f"cannot be read: {error}"))
            continue
        for name, (declaration, line) in found.items():
            layers[name] = (*layers.get(name, ()), Entry(declaration, path, line))
    if problems:
        count = f"{len(problems)} error{'' if len(problems) == 1 else 's'}"
        raise InputError(f"the local knob catalogue: {count}", problems=tuple(problems))
    return Catalogue(layers)
