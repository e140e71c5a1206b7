"""A profile from its file: the values, and where each of them stands."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from launcher.errors import InputError, Problem
from launcher.profile.checks import CHECKS
from launcher.profile.file import read_text, refused
from launcher.profile.findings import Finding, problem, unless_known
from launcher.profile.grammar import PROFILE
from launcher.profile.lines import Lines
from launcher.profile.model import Profile
from launcher.profile.parsing import parse
from launcher.profile.reading import Reader
from launcher.profile.tree import Block


@dataclass(frozen=True, slots=True)
class Loaded:
    """A profile with the lines it was written on."""

    profile: Profile
    path: Path
    """As the user typed it."""
    lines: Lines
    text: str

    def problem(self, finding: Finding) -> Problem:
        """The finding with this file's name and line."""
        return problem(finding, self.path, self.lines)


@dataclass(frozen=True, slots=True)
class Examined:
    """A profile as far as it can be read, and everything that is wrong with it by itself."""

    loaded: Loaded
    """Holds stand-ins for required keys that could not be read, so that the other checks can go on."""
    problems: tuple[Problem, ...]

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that stop."""
        return tuple(p for p in self.problems if p.severity == "error")


def load(path: Path) -> Loaded:
    """The profile at `path`.

    Raises InputError carrying every problem that the profile has by itself; warnings stop nothing.
    """
    examined = examine(path)
    if examined.errors:
        raise faulty(path, examined.problems)
    return examined.loaded


def examine(path: Path) -> Examined:
    """The profile at `path` with all its problems, for those who have more to check before they stop.

    Raises InputError only where the file is no YAML mapping at all.
    """
    text = read_text(path)
    tree, form = parse(text, path)
    if not isinstance(tree, Block):
        raise refused(path, "holds no keys; a profile is a mapping that begins with name:", line=tree.line)
    lines = Lines.of(tree)
    reader = Reader()
    values = reader.read(tree, PROFILE)
    loaded = Loaded(_profile(values, lines), path, lines, text)
    findings = [*form, *unless_known(reader.findings, form, lines)]
    alone = [finding for check in CHECKS for finding in check(loaded.profile, lines)]
    findings += unless_known(alone, findings, lines)
    return Examined(loaded, _in_order(loaded, findings))


def faulty(path: Path, problems: tuple[Problem, ...]) -> InputError:
    """The one error for all `problems` of the profile at `path`."""
    count = sum(p.severity == "error" for p in problems)
    return InputError(f"{path}: {count} error{'' if count == 1 else 's'}", problems=problems)


def _profile(values: object, lines: Lines) -> Profile:
    """The profile of what could be read, with stand-ins for the rest."""
    draft = dict(values) if isinstance(values, dict) else {}
    name = draft.setdefault("name", "unnamed")
    draft["model"] = {"name": name, **draft.get("model", {})}
    if isinstance(mover := draft.pop("transfer", None), dict):  # `floor` is the doctor's, and apart from what runs
        draft |= {name: mover[key] for name, key in (("transfer", "kind"), ("floor", "floor")) if key in mover}
    unreadable = lines.has("engine", "kind") or (lines.has("engine") and not lines.is_block("engine"))
    # Of an engine that could not be read, the kind that asks for least: what it lacks is not known.
    draft["engine"] = ({"kind": "cpu"} if unreadable else {}) | draft.get("engine", {})
    return Profile.model_validate(draft)


def _in_order(loaded: Loaded, findings: list[Finding]) -> tuple[Problem, ...]:
    ordered = sorted(findings, key=lambda f: f.line or loaded.lines.at(*f.path))
    return tuple(map(loaded.problem, ordered))
