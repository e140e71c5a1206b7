"""How long the commands take that read records: python benchmarks/records.py [RUNS].

`history` reads a deployment of 1,000 generations with 100 names; `diff` compares two generations, then two locks, of
the full profile, recorded with the source and the packages of the engine that `pdlaunch engine install cpu` made.
Nothing is started.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from measuring import BARE, PDLAUNCH, REPOSITORY, in_turn, ms, own_home, table

from launcher.engines import cpu_home
from launcher.operations.checking import check
from launcher.operations.locking import lock_profile
from launcher.operations.sealing import seal
from launcher.store import Event, Generation, Journal, Store, give_name, layout

PROFILE = REPOSITORY / "profiles" / "dsv4-flash.yaml"
GENERATIONS, NAMES = 1000, 100


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    with own_home() as home:
        os.environ["PDLAUNCH_CACHE_DIR"] = str(home / "cache")
        first, second = recorded(home)
        locks = [str(lock_profile(path).path) for path in (first, second)]
        many = grown("many", Store(layout("dsv4-flash")).generation(1))
        commands = {
            "python -c pass": BARE,
            f"history, {GENERATIONS:,} generations with {NAMES} names": (PDLAUNCH, "history", "-d", many),
            "diff of two dsv4-flash generations": differing("diff", "-d", "dsv4-flash", "1", "2"),
            "diff of two dsv4-flash locks": differing("diff", *locks),
        }
        found = in_turn(commands, times)
    bare = found["python -c pass"]
    rows = [(name, ms(run.wall), ms(run.cpu), f"{run.wall / bare.wall:.1f}") for name, run in found.items()]
    print(table((f"median of {times}", "time", "CPU", "times bare"), rows))


def differing(*words: str) -> tuple[str, ...]:
    """The command; 3, which says that there are differences, is what is expected of it."""
    return ("/bin/sh", "-c", '"$@"; [ $? -eq 3 ]', "sh", PDLAUNCH, *words)


def recorded(home: Path) -> tuple[Path, Path]:
    """Two profiles that differ in one variable, and their generations 1 and 2."""
    text = PROFILE.read_text().replace("/opt/sglang/venv", str(cpu_home() / "venv"))
    text = "".join(line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("source:"))
    paths = []
    for number, keep_alive in enumerate(("120", "60"), 1):
        path = home / str(number) / "dsv4-flash.yaml"
        path.parent.mkdir()
        path.write_text(text.replace("SGLANG_TIMEOUT_KEEP_ALIVE: 120", f"SGLANG_TIMEOUT_KEEP_ALIVE: {keep_alive}"))
        seal(check(path), Store(layout("dsv4-flash")), backend=None, by="benchmark", why=None)
        paths.append(path)
    return paths[0], paths[1]


def grown(name: str, like: Generation) -> str:
    """A deployment with many generations, as a year of changes leaves it: each was begun, served and was proved."""
    store = Store(layout(name))
    for number in range(1, GENERATIONS + 1):
        shutil.copytree(like.path, store.layout.generation(number), symlinks=True, copy_function=os.link)
        for what, details in (
            ("committed", {}),
            ("began", {"operation": "up"}),
            ("proved", {"tokens": 8193}),
            ("current", {}),
            ("finished", {"operation": "up", "outcome": "done"}),
        ):
            append(store.journal, Event(what=what, by="anna", why="a reason", generation=number, details=details))
    store.set_current(GENERATIONS, by="anna")
    for number in range(1, NAMES + 1):
        give_name(store, f"name-{number}", number * GENERATIONS // NAMES, by="anna")
    return name


def append(journal: Journal, event: Event) -> None:
    """Without forcing each line to the disk: the benchmark is not about writing."""
    with journal.path.open("ab") as file:
        file.write(event.model_dump_json(exclude_none=True).encode() + b"\n")


if __name__ == "__main__":
    main()
