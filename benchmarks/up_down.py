"""What `up`, `rollback` and `down` take beside the servers' own time: python benchmarks/up_down.py [PROFILE].

Runs the operations themselves and notes when each of their events comes. The servers' own time is what they need to
load, to answer a prompt and to end after TERM; the rest is pdlaunch's.
"""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import yaml
from measuring import REPOSITORY, own_home, table

from launcher.errors import PdlaunchError
from launcher.observe.running import running
from launcher.operations.down import down
from launcher.operations.events import Event
from launcher.operations.rollback import rollback
from launcher.operations.up import up
from launcher.profile import load
from launcher.store import Store, layout

CPU_TINY = REPOSITORY / "profiles" / "cpu-tiny.yaml"
SIMULATED = REPOSITORY / "profiles" / "sim.yaml"


@dataclass(slots=True)
class Clock:
    """Notes events with their time since it was made, in seconds."""

    began: float = field(default_factory=time.monotonic)
    seen: list[tuple[float, Event]] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        self.seen.append((self.now(), event))

    def now(self) -> float:
        return time.monotonic() - self.began

    def last(self, subject: str | None = None, text: str | None = None) -> float:
        """When the last event of that subject, or with that text, came."""
        return max(at for at, e in self.seen if subject in (None, e.subject) and text in (None, e.text))


def main() -> None:
    profile = Path(sys.argv[1]) if len(sys.argv) > 1 else CPU_TINY
    with own_home() as home:
        store = Store(layout(load(profile).profile.name))
        try:
            rows = measure_up(profile)
            up(changed(profile, home), Clock())
            rows += [measure_back(store), *measure_down(store)]
        except PdlaunchError as error:
            sys.exit(f"error: {error.message}\nhint: {error.hint}")
    print(table((profile.name, "total", "servers", "pdlaunch"), [(n, _s(t), _s(s), _s(t - s)) for n, t, s in rows]))


def measure_up(profile: Path) -> list[tuple[str, float, float]]:
    """Name, whole time and servers' time of each phase."""
    clock = Clock()
    up(profile, clock)
    end = clock.now()
    checked, recorded, loaded = clock.last("checked"), clock.last("recorded"), clock.last(text="loaded")
    tokens = [(at, e) for at, e in clock.seen if e.subject == "token"]
    edges = [(at, e.seconds or 0.0) for at, e in tokens if "->" in e.text]
    (through,) = [(at, e.seconds or 0.0) for at, e in tokens if "router" in e.text]
    proven = max((at for at, _ in edges), default=loaded)
    answers = max((seconds for _, seconds in edges), default=0.0)  # they are asked side by side
    found = through[0] - through[1]  # the router's readiness, which it reaches by itself
    return [
        ("check the profile", checked, 0.0),
        ("snapshot, plan, render, record", recorded - checked, 0.0),
        ("start until all are loaded", loaded - recorded, loaded - recorded),
        ("tokens on every edge", proven - loaded, answers),
        ("until the router knows its workers", found - proven, found - proven),
        ("a token through the router", through[0] - found, through[1]),
        ("journal, pointer", end - through[0], 0.0),
        ("**up, after the last was loaded**", end - loaded, answers + found - proven + through[1]),
    ]


def changed(profile: Path, home: Path) -> Path:
    """The profile with one more variable for the prefill, in a file of its own."""
    content = yaml.safe_load(profile.read_text())
    content["prefill"].setdefault("env", {})["SGLANG_TIMEOUT_KEEP_ALIVE"] = 60
    path = home / profile.name
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def measure_back(store: Store) -> tuple[str, float, float]:
    """The way back to the first generation; the servers' time is ending, loading and answering."""
    clock = Clock()
    rollback(store, store.numbers()[0], clock)
    end = clock.now()
    stopped = [event.seconds or 0.0 for _, event in clock.seen if event.subject == "stopped"]
    answered = [event.seconds or 0.0 for _, event in clock.seen if event.subject == "token"]
    loading = clock.last(text="loaded") - clock.last("stopped")
    return ("**rollback, one server restarts**", end, sum(stopped) + loading + sum(answered))


def measure_down(store: Store) -> list[tuple[str, float, float]]:
    """As `measure_up`; the servers' time runs from the word to stop until the last of their processes is gone."""
    main = [psutil.Process(found.main.pid) for found in running(store.layout.state).values()]
    gone: list[float] = []
    clock = Clock()

    def watch() -> None:
        psutil.wait_procs(main)
        gone.append(clock.now())

    watching = threading.Thread(target=watch)
    watching.start()
    down(store, clock)
    end = clock.now()
    watching.join()
    asked = clock.last("stopping")
    left = list(running(store.layout.state))
    if left:
        raise SystemExit(f"down left {left}")
    return [("**down**", end, gone[0] - asked)]


def _s(seconds: float) -> str:
    return f"{seconds:.2f} s"


if __name__ == "__main__":
    main()
