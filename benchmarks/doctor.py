"""How long the doctor takes without cards, and what `up` waits for it: python benchmarks/doctor.py [RUNS]."""

from __future__ import annotations

import random
import statistics
import sys
import time
from pathlib import Path

import yaml
from measuring import BARE, PDLAUNCH, REPOSITORY, Run, in_turn, ms, own_home, table

from launcher.operations.checking import check
from launcher.operations.doctoring import require_healthy
from launcher.store import Store, layout

PROFILES = {"the simulator": "sim.yaml", "the CPU engine": "cpu-tiny.yaml"}


def own_ports(profile: Path, folder: Path) -> Path:
    """The shipped profile with ports of its own: another deployment of this machine is no finding here."""
    settings = yaml.safe_load(profile.read_text())
    base = 12_000 + 20 * random.randrange(400)
    settings["prefill"] |= {"port": base, "nccl_port": base + 1, "bootstrap_port": base + 2}
    settings["decode"] |= {"port": base + 3, "nccl_port": base + 4}
    settings["router"] |= {"port": base + 5, "metrics_port": base + 6}
    path = folder / profile.name
    path.write_text(yaml.safe_dump(settings))
    return path


def before_up(profile: Path, times: int) -> float:
    """The median of what `up` waits for, in this process."""
    plan = check(profile).plan
    assert plan
    store = Store(layout(plan.deployment))
    took = []
    for _ in range(times):
        began = time.perf_counter()
        require_healthy(plan, store)
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    with own_home() as home:
        profiles = {name: own_ports(REPOSITORY / "profiles" / file, home) for name, file in PROFILES.items()}
        commands = {
            "python -c pass": BARE,
            "doctor: the machine alone": (PDLAUNCH, "doctor"),
            **{f"doctor: {name}": (PDLAUNCH, "doctor", str(path)) for name, path in profiles.items()},
        }
        found = in_turn(commands, times)
        found |= {
            f"before up: {name}": Run(seconds, seconds)
            for name, path in profiles.items()
            for seconds in [before_up(path, times)]
        }
    bare = found["python -c pass"].wall
    rows = [(name, ms(run.wall), ms(run.cpu), f"{run.wall / bare:.1f}") for name, run in found.items()]
    print(table((f"median of {times}", "time", "CPU", "times bare"), rows))


if __name__ == "__main__":
    main()
