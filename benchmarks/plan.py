"""How long `plan` of the full profile takes, absolute and against a bare Python: python benchmarks/plan.py [RUNS]."""

from __future__ import annotations

import os
import sys

from measuring import BARE, PDLAUNCH, REPOSITORY, in_turn, ms, own_home, table, timed

PROFILE = str(REPOSITORY / "profiles" / "dsv4-flash.yaml")


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    with own_home() as home:
        os.environ["PDLAUNCH_CACHE_DIR"] = str(home / "cache")
        plan = (PDLAUNCH, "plan", PROFILE)
        first = timed(plan)  # reads the engine's flags and variables from its source, where one is installed
        found = in_turn({"python -c pass": BARE, "plan": plan, "check": (PDLAUNCH, "check", PROFILE)}, times)
    bare = found["python -c pass"]
    rows = [(name, ms(run.wall), ms(run.cpu), f"{run.wall / bare.wall:.1f}") for name, run in found.items()]
    rows.append(
        ("plan, the first, with nothing cached", ms(first.wall), ms(first.cpu), f"{first.wall / bare.wall:.1f}")
    )
    print(table((f"dsv4-flash, median of {times}", "time", "CPU", "times bare"), rows))


if __name__ == "__main__":
    main()
