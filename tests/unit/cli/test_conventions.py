"""What every command has: help, --json where it reads, --dry-run where it writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from launcher.cli.app import GROUPS, build
from launcher.cli.pages import first_page, reference

from .conftest import Shell

NEITHER = {"schema": "it is JSON and nothing else", "logs": "they are lines"}


def _walk(group: Any, path: str) -> Iterator[tuple[str, set[str]]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _walk(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", {option for parameter in command.params for option in parameter.opts}


COMMANDS = dict(_walk(typer.main.get_command(build()), ""))
"""Every command with the names of its options."""


def test_a_reader_has_json_and_a_writer_dry_run() -> None:
    without = {name for name, options in COMMANDS.items() if not options & {"--json", "--dry-run"}}
    assert without == NEITHER.keys()
    with_a_reason = {name for name, options in COMMANDS.items() if "--message" in options}
    assert with_a_reason >= {"up", "down", "restart", "rollback"}
    assert {name for name in with_a_reason if "--dry-run" not in COMMANDS[name]} == set()


def test_who_changes_a_deployment_can_say_why() -> None:
    writers = {name for name, options in COMMANDS.items() if {"--dry-run", "--deployment"} <= options}
    assert {name for name in writers if "--message" not in COMMANDS[name]} == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_help_in_both_spellings(shell: Shell, name: str) -> None:
    said = shell(*name.split(), "-h")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"Usage: pdlaunch {name} ")
    assert shell(*name.split(), "--help") == said


def test_groups_have_help_too(shell: Shell) -> None:
    assert shell("engine", "-h").code == 0
    assert "install" in shell("engine", "-h").out
    assert shell("-h").out.startswith("Usage: pdlaunch ")


def test_the_first_page_and_the_reference_name_every_command() -> None:
    for _, commands in GROUPS:
        for name in commands:
            assert f"\n  {name} " in first_page()
    for name in COMMANDS:
        assert f"## pdlaunch {name}\n" in reference()
