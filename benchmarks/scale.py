"""How `up`, `status` and `down` grow with the number of simulated servers: python benchmarks/scale.py [SERVERS ...].

The bare start is the same serve scripts, router included, started side by side by nobody, until each says that it is
ready: what `up` takes beyond it is supervision, one prompt on every edge, and the record.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from measuring import PDLAUNCH, own_home, table, timed

from launcher.plan import Plan, Service
from launcher.store import Store, layout

PROFILE = """\
name: scale-{count}
engine: {{kind: simulator}}
prefill: {{replicas: [{half}]}}
decode: {{replicas: [{half}]}}
router:
  port: 30099
  args: {{policy: round_robin, disable-retries: true, disable-circuit-breaker: true}}
stop: {{drain: 5s, kill: 15s}}
backend: supervisord
"""


def main() -> None:
    counts = [int(word) for word in sys.argv[1:]] or [2, 8, 24]
    with own_home() as home:
        rows = [measure(count, home) for count in counts]
    print(table(("simulated servers", "edges", "bare start", "up", "status", "down"), rows))


def measure(count: int, home: Path) -> Sequence[str]:
    profile = home / f"{count}.yaml"
    profile.write_text(PROFILE.format(count=count, half=", ".join(["{}"] * (count // 2))))
    up = timed((PDLAUNCH, "up", str(profile)))
    status = timed((PDLAUNCH, "status", "-d", f"scale-{count}"))
    down = timed((PDLAUNCH, "down", "-d", f"scale-{count}"))
    store = Store(layout(f"scale-{count}"))
    generation = store.generation(store.numbers()[-1])
    bare = bare_start(generation.path, generation.plan)
    return (str(count), str((count // 2) ** 2), *(f"{s:.1f} s" for s in (bare, up.wall, status.wall, down.wall)))


def bare_start(scripts: Path, plan: Plan) -> float:
    """Seconds until everything that the generation's own scripts start is ready."""
    began = time.monotonic()
    processes = [
        subprocess.Popen([scripts / f"{s.name}.sh"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for s in plan.services
    ]
    try:
        for service in plan.services:
            while not _ready(service):
                time.sleep(0.05)
        return time.monotonic() - began
    finally:
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.wait()


def _ready(service: Service) -> bool:
    path = "liveness" if service.role == "router" else "ready"
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{service.ports['http']}/{path}", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


if __name__ == "__main__":
    os.environ["no_proxy"] = "127.0.0.1"
    main()
