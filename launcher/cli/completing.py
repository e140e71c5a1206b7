"""What may stand where the cursor is, for a shell that asks on every TAB: from names that lie on the disk already.

Nothing of ours is loaded for it and no engine is read; what commands there are stands in ``words.json``, which is
generated from them (`python -m launcher.cli.pages`).
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from launcher.folders import cache_dir, deployments, state_dir

WORDS = Path(__file__).with_name("words.json")
SHELLS = ("bash", "zsh", "fish")
_CATALOGUE = Path(__file__).parents[1] / "knobs" / "catalogue"
_KNOB = re.compile(r"^  ([A-Za-z_][A-Za-z0-9_-]*):\s*$", re.MULTILINE)
_ENGINES = 3
"""Engines whose names are offered: those that were read last."""


def main(words: Sequence[str]) -> int:
    """Answer a shell, or ``--show-completion SHELL``; returns the exit code."""
    if words[:1] != ["--show-completion"]:
        answer(words)  # of a line being typed, the last word as far as it stands there
        return 0
    if len(words) != 2 or words[1] not in SHELLS:
        sys.stderr.write(f"error: which shell? {', '.join(SHELLS)}\nhint: pdlaunch --show-completion {SHELLS[0]}\n")
        return 2
    sys.stdout.write(Path(__file__).with_name("completion").joinpath(f"pdlaunch.{words[1]}").read_text("utf-8"))
    return 0


def answer(line: Sequence[str]) -> None:
    """Print what may stand in the place of the last word of `line`; nothing where a file is meant."""
    *before, current = line or [""]
    found = sorted({word for word in candidates(before, current) if word.startswith(current)})
    sys.stdout.write("".join(f"{word}\n" for word in found))


def candidates(before: Sequence[str], current: str) -> Iterator[str]:
    """Every word that the command takes after `before`, whether or not it begins like `current`."""
    commands: Mapping[str, Any] = json.loads(WORDS.read_text(encoding="utf-8"))
    name, rest = _command(commands, before)
    if name not in commands:
        yield from _next(commands, name)
        return
    command = commands[name]
    options: Mapping[str, str | None] = command["options"]
    if rest and options.get(rest[-1]):
        yield from _names(str(options[rest[-1]]), _chosen(rest))
        return
    if current.startswith("-"):
        yield from options
        return
    given = len([word for at, word in enumerate(rest) if not word.startswith("-") and not _is_value(rest, at, options)])
    kinds: list[str] = command["arguments"]
    if kinds:
        kind = kinds[min(given, len(kinds) - 1)] if given < len(kinds) or command["more"] else ""
        yield from _names(kind, _chosen(rest))
    if name == "knobs list" and not given:
        yield from _next(commands, "knobs")


def _command(commands: Mapping[str, Any], before: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The command's name, as far as it stands there, and the words that follow it."""
    two = " ".join(before[:2])
    if two in commands:
        return two, before[2:]
    if before and before[0] == "knobs":  # `knobs WORD` is `knobs list WORD`
        return "knobs list", before[1:]
    return (before[0], before[1:]) if before and before[0] in commands else (two, ())


def _next(commands: Mapping[str, Any], so_far: str) -> Iterator[str]:
    """The words with which the commands go on that begin with `so_far`."""
    prefix = f"{so_far} " if so_far else ""
    return (name[len(prefix) :].partition(" ")[0] for name in commands if name.startswith(prefix))


def _is_value(words: Sequence[str], at: int, options: Mapping[str, str | None]) -> bool:
    return at > 0 and bool(options.get(words[at - 1]))


def _chosen(words: Sequence[str]) -> str | None:
    """The deployment that the line names; without one, the only one that there is."""
    named = next((words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-d", "--deployment")), None)
    there = deployments()
    return named or (there[0] if len(there) == 1 else None)


def _names(kind: str, deployment: str | None) -> Iterator[str]:
    """The names of one kind; none for what is a file or free text."""
    find: Mapping[str, Callable[[], Iterator[str]]] = {
        "knob": _knobs,
        "deployment": lambda: iter(deployments()),
        "generation": lambda: _generations(deployment),
        "name": lambda: iter(_names_given(deployment)),
        "service": lambda: _services(deployment),
        "backend": lambda: iter(("supervisord", "systemd")),
    }
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):  # a damaged file offers nothing
        yield from find[kind]() if kind in find else ()


def _knobs() -> Iterator[str]:
    """The declared knobs, and what the engines have that were read here last; no engine is read for it."""
    for path in _CATALOGUE.glob("*.yaml"):
        yield from _KNOB.findall(path.read_text(encoding="utf-8").partition("\nknobs:")[2])
    read = sorted(cache_dir().glob("knobs/knobs-*-whole.json"), key=lambda path: path.stat().st_mtime)
    for path in read[-_ENGINES:]:
        _, _, flags, env, *_ = json.loads(path.read_bytes())["knobs"]  # as `launcher.knobs.harvest.codec` writes it
        yield from (*flags["="], *env["="])


def _generations(deployment: str | None) -> Iterator[str]:
    if deployment is not None:
        yield from _names_given(deployment)
        yield from (path.name for path in (state_dir() / deployment / "generations").iterdir() if path.name.isdecimal())
        yield from ("good", "-1")


def _names_given(deployment: str | None) -> list[str]:
    """Names of generations, as the journal leaves them."""
    names: dict[str, Any] = {}
    journal = state_dir() / str(deployment) / "journal.jsonl"
    for line in journal.read_text(encoding="utf-8").splitlines() if journal.is_file() else ():
        if '"named"' in line or '"unnamed"' in line or '"removed"' in line:
            event = json.loads(line)
            name = event["details"].get("name")
            if event["what"] == "named":
                names[name] = event["generation"]
            elif event["what"] == "unnamed":
                names.pop(name, None)
            else:
                names = {other: number for other, number in names.items() if number != event["generation"]}
    return list(names)


def _services(deployment: str | None) -> Iterator[str]:
    """The services of the newest generation."""
    folder = state_dir() / str(deployment) / "generations"
    newest = max((path for path in folder.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))
    yield from json.loads((newest / "manifest.json").read_bytes())["services"]
