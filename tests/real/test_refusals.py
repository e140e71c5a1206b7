"""What `knobs lint` says of flags and values against SGLang's own parser, on the CPU engine."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path

import pytest

from launcher.engines import describe
from launcher.engines.cpu import CPU_ENGINE_ENV, home
from launcher.knobs import EngineKnobs, Flag, harvest
from launcher.profile import ArgValue
from launcher.rules.parsed import refusal

pytestmark = pytest.mark.real

SCRIPT = Path(__file__).with_name("refused_by_engine.py")
CPU_ENGINE = home() / "venv"
"""This machine's own, asked for before any test is given folders of its own."""
VALUES: tuple[ArgValue, ...] = (
    *(True, "1", "-1", "1.5", "1_000", " 7 ", "x", "auto", "true", "-1e5", "-foo", "-a b", "", "None", "4k", "2Mi"),
    *(
        (),
        ("1", "2"),
        ("a", "b"),
        "[1]",
        "{",
        "--",
        "-",
        "=x",
        "--tp",
        ("--tp", "8"),
        ("1", "--no-such"),
        "٣",
        "inf",
        "0x10",
    ),
)
"""A mapping is not among them: what may stand in one, --lora-paths and --cuda-graph-config decide themselves."""
SAMPLE = 1500


def test_what_the_engines_parser_refuses_is_refused_here() -> None:
    facts = describe(CPU_ENGINE)
    knobs = harvest(facts.package)
    asked = random.Random(5).sample(sorted(cases(knobs), key=str), SAMPLE)
    lines = [[f"--{name}", *words(value)] for name, value in asked]
    env = {name: value for name, (value, _) in CPU_ENGINE_ENV.items()}
    done = subprocess.run(
        [str(facts.python), str(SCRIPT)],
        input=json.dumps(lines),
        capture_output=True,
        text=True,
        check=False,
        env={"HOME": os.environ["HOME"], "PATH": os.environ["PATH"], **env},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    said: list[str | None] = json.loads(done.stdout[done.stdout.index("[") :])
    assert len(said) == SAMPLE
    here = [refusal(knobs, name, value) for name, value in asked]
    differing = [
        (*case, mine, its) for case, mine, its in zip(asked, here, said, strict=True) if bool(mine) != bool(its)
    ]
    assert differing == []
    assert 0.4 * SAMPLE < sum(map(bool, said)) < 0.9 * SAMPLE, "a sample of which much is taken and much refused"


def cases(knobs: EngineKnobs) -> set[tuple[str, ArgValue]]:
    """Every flag with every value, each of its choices, and its name cut short everywhere."""
    flags = [flag for flag in knobs.flags.values() if flag.action != "help"]
    found = {(flag.name, value) for flag in flags for value in VALUES}
    found |= {(flag.name, str(choice)) for flag in flags for choice in choices(flag)}
    found |= {(f"{flag.name}={text}", True) for flag in flags for text in ("", "1", "-1", "x")}
    found |= {(name.replace("-", "_"), "1") for flag in flags for name in flag.spellings}
    return found | {(name[:cut], True) for flag in flags for name in flag.spellings for cut in range(1, len(name) + 1)}


def choices(flag: Flag) -> tuple[str | int, ...]:
    given = flag.choices if isinstance(flag.choices, tuple) else ()
    return tuple(choice for choice in given if isinstance(choice, str | int))


def words(value: ArgValue) -> tuple[str, ...]:
    match value:
        case str():
            return (value,)
        case tuple():
            return value
        case _:
            return ()
