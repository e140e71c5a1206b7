"""What a harvest knows of an engine: its flags and its environment variables, as the source declares and uses them.

Facts only. What is safe, dangerous or advisable is the catalogue's to say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias


class Place(NamedTuple):
    """A line of the engine's source; `file` is relative to the package, with forward slashes. Line 0: a binary."""

    file: str
    line: int

    def __str__(self) -> str:
        """``file:line``, as an editor takes it; the file alone where it has no lines."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def part(self) -> str:
        """What the file belongs to: ``server``, ``test``, ``bench`` (and tools), ``diffusion`` (another server)."""
        *folders, name = self.file.split("/")
        if not _TESTS.isdisjoint(folders) or _TEST_FILE.match(name):
            return "test"
        if folders[:1] == ["multimodal_gen"]:
            return "diffusion"
        first = folders[0] if folders else name
        bench = first in _NOT_SERVING or first.startswith("bench_") or not _BENCHES.isdisjoint(folders)
        return "bench" if bench else "server"


_TESTS = frozenset({"test", "tests", "testing", ".agents"})
_TEST_FILE = re.compile(r"test_|conftest\.|unit_test\.|\w+_test\.py")
_BENCHES = frozenset({"benchmark", "benchmarks", "bench"})
_NOT_SERVING = frozenset({"lang", "check_env.py", "compile_deep_gemm.py", "profiler.py"})


@dataclass(frozen=True, slots=True)
class Unevaluated:
    """A value that the source alone does not give: the expression, as written."""

    source: str

    def __str__(self) -> str:
        """The expression, in the form that messages use."""
        return f"<{self.source}>"


Scalar: TypeAlias = bool | int | float | str | None
Value: TypeAlias = "Scalar | tuple[Value, ...] | Mapping[str, Value] | Unevaluated"


@dataclass(frozen=True, slots=True)
class Flag:
    """One command-line option, as the engine's own argument parser has it."""

    name: str
    """The long name without dashes that equals the engine's own field where there is one (``tp-size``)."""
    options: tuple[str, ...]
    """Every long name that the parser takes for it, `name` among them, in the order of the declaration."""
    dest: str
    type: str
    """``bool`` for a switch; else the callable that parses the text, by name (``int``, ``json.loads``)."""
    default: Value
    """What the parser stores when the flag is not given; None where it stores None."""
    choices: tuple[Value, ...] | Unevaluated | None = None
    nargs: int | str | None = None
    """As argparse takes it: None one value, 0 none, a count, ``?``, ``*`` or ``+``."""
    const: Value = None
    action: str = "store"
    """argparse's own word, ``BooleanOptionalAction``, or the name of the engine's action class."""
    required: bool = False
    help: str | Unevaluated = ""
    group: str | None = None
    negations: tuple[str, ...] = ()
    """The ``no-`` twins that a BooleanOptionalAction adds."""
    short: tuple[str, ...] = ()
    """One-letter options, dash included."""
    deprecated: str | None = None
    """The engine's own words when it calls the flag deprecated."""
    replaced_by: str | None = None
    """What the engine says to write instead, as it says it."""
    refused: bool = False
    """The parser knows the flag only to refuse it."""
    when: str | None = None
    """The condition under which the flag exists, where it could not be decided from the source."""
    depends_on: tuple[str, ...] = ()
    """Variables whose default was assumed to evaluate this flag: another value can change it."""
    declared: Place | None = None

    @property
    def aliases(self) -> tuple[str, ...]:
        """The other long names that the parser takes for this flag."""
        return tuple(option for option in self.options if option != self.name)

    @property
    def has_no_twin(self) -> bool:
        """Whether ``--no-NAME`` exists."""
        return bool(self.negations)

    @property
    def takes_value(self) -> bool:
        """Whether at least one value can follow the flag."""
        return self.nargs != 0 and self.action not in _SWITCHES

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every long name that the parser knows because of this flag, twins included."""
        return self.options + self.negations


_SWITCHES = frozenset(
    {"store_true", "store_false", "store_const", "append_const", "count", "help", "version", "BooleanOptionalAction"}
)


@dataclass(frozen=True, slots=True)
class Reader:
    """How a variable's text becomes a value."""

    name: str
    """The registry class (``EnvBool``), the helper (``get_bool_env_var``) or ``os.environ``."""
    kind: str
    """bool, int, float, str, tuple, json; ``presence`` where being set is all that counts; ``unknown``."""
    true: tuple[str, ...] = ()
    """For a bool: the spellings that mean true. Empty where the source does not list them."""
    false: tuple[str, ...] = ()
    """The spellings that mean false; empty where everything else does."""
    ignores_case: bool = False
    otherwise: str | None = None
    """What happens to any other text: ``default`` (with a warning), ``false``, ``true``, ``error``; None: not known."""


class Read(NamedTuple):
    """One place that reads a variable."""

    place: Place
    via: str
    """``registry``, ``os.environ``, ``os.getenv``, ``getenv`` (C++) or the helper's name."""
    reader: Reader | None = None
    default: Value = None
    """The fallback of this very read; None where there is none."""
    platforms: tuple[str, ...] = ()
    """Platforms to which the place belongs, by its path or the condition around it; empty means any."""


class Write(NamedTuple):
    """One place where the engine sets a variable of its own process."""

    place: Place
    value: Value
    how: str
    """``set`` overwrites, ``default`` keeps what is there, ``clear`` removes, ``override`` lasts for a block,
    ``restore`` puts back what was there."""
    when: str | None = None
    """The innermost condition around it, as written."""
    platforms: tuple[str, ...] = ()
    """As for a read."""


class Remark(NamedTuple):
    """Why a declared variable may not do what its declaration suggests."""

    code: str
    """What kind of remark it is: ``unread`` (nothing in the server reads it), ``read-as`` (it reads another name),
    ``by-name`` (read by a computed name, if at all), ``compiled`` (only a compiled library has its name), ``elsewhere``
    (left to a library), ``overwritten``, ``platform`` (read only by code for others than NVIDIA), ``renamed``,
    ``flipped`` (renamed to the opposite), ``removed``."""
    text: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class EnvKnob:
    """One environment variable that the engine declares, reads or sets."""

    name: str
    kind: str
    """bool, int, float, str, tuple, json; ``mixed`` where readers disagree, ``unknown`` where none says."""
    default: Value = None
    """What the engine takes when it is not set; None where that is None, or where each reader has its own."""
    depends_on: tuple[str, ...] = ()
    """Variables whose default was assumed to evaluate this default."""
    reader: Reader | None = None
    declared: Place | None = None
    """Where the registry declares it; None for a name that is only read."""
    secret: bool = False
    section: str | None = None
    comment: str = ""
    aliases: tuple[str, ...] = ()
    """Deprecated names whose value the engine carries over to this one."""
    replaced_by: str | None = None
    """The name to which the engine forwards this deprecated one."""
    deprecated: str | None = None
    """The engine's own words about a deprecated name; empty when it only says that it is."""
    deprecated_at: Place | None = None
    reads: tuple[Read, ...] = ()
    writes: tuple[Write, ...] = ()
    remarks: tuple[Remark, ...] = ()

    @property
    def read(self) -> bool:
        """Whether the server itself reads it; tests, benchmarks and the diffusion server do not count."""
        return any(read.place.part == "server" for read in self.reads)


class DynamicRead(NamedTuple):
    """A read whose name is computed; `pattern` has ``*`` for what is not known."""

    place: Place
    expression: str
    pattern: str | None = None


class Note(NamedTuple):
    """Something about the tree that the harvest could not read, or that reads oddly."""

    place: Place
    text: str


@dataclass(frozen=True, slots=True)
class EngineKnobs:
    """Everything that one engine tree knows of flags and variables."""

    engine: str
    """``sglang`` or ``sglang_router``."""
    version: str | None
    flags: Mapping[str, Flag]
    env: Mapping[str, EnvKnob] = field(default_factory=dict)
    dynamic: tuple[DynamicRead, ...] = ()
    mentions: Mapping[str, Place] = field(default_factory=dict)
    """Names of the engine's namespace that its texts mention and no code declares or reads, with one place."""
    compiled: Mapping[str, Place] = field(default_factory=dict)
    """Texts of the engine's namespace in its compiled libraries, whose source is not there: a name, or several glued
    together, since not every compiler ends a text."""
    legacy_prefixes: Mapping[str, str] = field(default_factory=dict)
    """Prefixes that the engine rewrites at import, such as SGL_ to SGLANG_: the old name overwrites the new."""
    notes: tuple[Note, ...] = ()
    whole: bool = True
    """Reads and writes were harvested too; False for declarations only."""
