"""The rules of the house that no linter knows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from launcher.cli import pages
from launcher.cli.app import GROUPS, NESTED
from launcher.cli.front import HELP
from launcher.profile import load

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(p for room in ("launcher", "templates", "benchmarks", "examples") for p in (ROOT / room).rglob("*.py"))
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "benchmarks" / "README.md"])
LONGEST = 400
NOTHING_NAMES = re.compile(r"(utils?|misc|common|manager|base|stuff)", re.IGNORECASE)
"""A name that says nothing collects what belongs elsewhere."""


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_module_is_too_long() -> None:
    lengths = {name(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert len(lengths) > 200
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST} == {}


def test_modules_and_classes_are_named_for_what_they_do() -> None:
    modules = [name(path) for path in SOURCES if NOTHING_NAMES.fullmatch(path.stem)]
    classes = [
        f"{name(path)}: {node.name}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and node.name.endswith(("Manager", "Utils", "Base"))
    ]
    assert (modules, classes) == ([], [])


def test_every_room_has_a_door_that_says_what_is_behind_it() -> None:
    rooms = {path.parent for path in SOURCES if path.is_relative_to(ROOT / "launcher")}
    doors = {room: room / "__init__.py" for room in rooms}
    assert [name(room) for room, door in doors.items() if not door.is_file()] == []
    said = {name(door): ast.get_docstring(ast.parse(door.read_text())) or "" for door in doors.values()}
    assert [door for door, text in said.items() if len(text.split()) < 3] == []


def test_the_generated_pages_are_current() -> None:
    """When one is not: python -m launcher.cli.pages."""
    assert HELP.read_text() == pages.first_page()
    assert pages.REFERENCE.read_text() == pages.reference()


def test_pages_link_to_what_is_there() -> None:
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text())]
    assert len(links) > 10
    assert [f"{name(page)}: {link}" for page, link in links if not (page.parent / link).exists()] == []


def test_pages_speak_of_commands_that_exist() -> None:
    commands = {command for _, group in GROUPS for command in group} | set(NESTED)
    written = [page for page in PAGES if page != pages.REFERENCE]
    spoken = [(name(page), word) for page in written for word in commands_in(page.read_text())]
    assert len(spoken) > 20
    assert [(page, word) for page, word in spoken if word not in commands] == []


def commands_in(text: str) -> Iterator[str]:
    """What follows ``pdlaunch`` where a line of a fence, a prompt or a pair of backticks begins with it."""
    for code in re.findall(r"^```.*?^```|`[^`\n]+`", text, re.MULTILINE | re.DOTALL):
        yield from re.findall(r"(?:^|\$ |`)pdlaunch ([a-z]+)\b", code, re.MULTILINE)


def test_profiles_on_the_pages_are_read_without_a_complaint(tmp_path: Path) -> None:
    profiles = [
        text
        for page in PAGES
        for text in re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
        if text.startswith("name:")
    ]
    assert profiles
    for text in profiles:
        path = tmp_path / "profile.yaml"
        path.write_text(text)
        assert load(path).profile.name in text
