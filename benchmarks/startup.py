"""How long a command line takes to answer, against a bare Python: python benchmarks/startup.py [RUNS]."""

from __future__ import annotations

import sys

from measuring import BARE, PDLAUNCH, in_turn, ms, table

COMMANDS = {
    "python -c pass": BARE,
    "pdlaunch --help": (PDLAUNCH, "--help"),
    "pdlaunch --version": (PDLAUNCH, "--version"),
    "TAB after pdlaunch explain SGLANG_": ("env", "_PDLAUNCH_COMPLETE=1", PDLAUNCH, "explain", "SGLANG_"),
    "pdlaunch plan --help": (PDLAUNCH, "plan", "--help"),
}


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 31
    found = in_turn(COMMANDS, times)
    bare = found["python -c pass"]
    rows = [
        (name, ms(run.wall), ms(run.cpu), f"{run.wall / bare.wall:.1f}", f"{run.cpu / bare.cpu:.1f}")
        for name, run in found.items()
    ]
    print(table((f"median of {times}", "time", "CPU", "times bare", "CPU, times bare"), rows))


if __name__ == "__main__":
    main()
