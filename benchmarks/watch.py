"""What watching costs, how soon it tells, whether it keeps calm: benchmarks/watch.py cost [SERVERS] | told | calm.

`cost` watches simulated servers under light traffic and reads the watcher's own processor time and memory. `told` stops
the decode's scheduler under traffic, and kills it, some times each, and reads when the watcher says so. `calm` sends a
pair long prompts, bursts and nothing in turn while every core is kept busy by something else, and counts what the
watcher calls hung: each is one too many, since nothing hangs. Simulated time is real time.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import psutil
from measuring import PDLAUNCH, own_home, table, timed

from launcher.backends.processes import look
from launcher.store import layout

PROFILE = """\
name: watched
engine:
  kind: simulator
  args: {{context-length: 270000, chunked-prefill-size: 4096, max-total-tokens: 2000000}}
prefill:
  replicas: [{half}]
  env: {{PDLAUNCH_SIM_PREFILL_US: "150"}}
decode:
  replicas: [{half}]
  env: {{PDLAUNCH_SIM_TOKEN_MS: "20"}}
router:
  port: {port}
  args: {{policy: round_robin, disable-retries: true, disable-circuit-breaker: true, request-timeout-secs: 600}}
stop: {{drain: 5s, kill: 15s}}
watch: {{on_hang: none}}
backend: supervisord
"""
PORT = 30097
SETTLE = 10.0
LONG = 262_144


def main() -> None:
    what, *more = sys.argv[1:] or ["cost"]
    with own_home() as home:
        if what == "cost":
            cost(home, int(more[0]) if more else 24)
        elif what == "told":
            told(home, int(more[0]) if more else 5)
        else:
            calm(home, float(more[0]) if more else 30.0)


def cost(home: Path, servers: int) -> None:
    with deployment(home, servers), watcher(home) as watching:
        stop = threading.Event()
        clients = [threading.Thread(target=chat, args=(stop, n), daemon=True) for n in range(6)]
        for client in clients:
            client.start()
        time.sleep(SETTLE)
        rows = [measured(watching, "6 clients", 120)]
        stop.set()
        time.sleep(15)
        rows.append(measured(watching, "idle", 60))
    print(table(("servers", "traffic", "seconds", "of one core", "memory"), [(str(servers), *row) for row in rows]))


def told(home: Path, times: int) -> None:
    stop = threading.Event()
    hung, died = [], []
    with deployment(home, 2), watcher(home):
        for n in range(4):
            threading.Thread(target=chat, args=(stop, n), daemon=True).start()
        for _ in range(times):
            time.sleep(SETTLE + random.random() * 2)
            pid = scheduler()
            hung.append(until_said(home, "decode-0 hung:", partial(os.kill, pid, signal.SIGSTOP)))
            until_said(home, "decode-0 recovered", partial(os.kill, pid, signal.SIGCONT))
        for _ in range(min(times, 3)):  # as often as the supervisor starts it again
            time.sleep(SETTLE + random.random() * 2)
            died.append(until_said(home, "decode-0 died:", partial(os.kill, scheduler(), signal.SIGKILL)))
            until_said(home, "decode-0 ready", lambda: None)
        stop.set()
    rows = [spread("SIGSTOP to hung", hung), spread("kill -9 to died", died)]
    print(table(("from ... to", "times", "least", "median", "most"), rows))


def spread(what: str, seconds: Sequence[float]) -> Sequence[str]:
    figures = min(seconds), statistics.median(seconds), max(seconds)
    return what, str(len(seconds)), *(f"{figure:.1f} s" for figure in figures)


def scheduler() -> int:
    """The scheduler process of the decode."""
    procs = look(layout("watched").state).services["decode-0"]
    return next(proc.pid for proc in procs if "scheduler" in " ".join(proc.cmdline))


def until_said(home: Path, words: str, do: Callable[[], None]) -> float:
    """Seconds from `do` to a new line of the story that holds `words`."""
    log = home / "watch.log"
    known, began = len(log.read_text()), time.monotonic()
    do()
    while words not in log.read_text()[known:]:
        if time.monotonic() > began + 120:
            raise TimeoutError(words)
        time.sleep(0.02)
    return time.monotonic() - began


def measured(process: psutil.Process, what: str, seconds: float) -> Sequence[str]:
    """The processor time of a process over `seconds`, and its memory at the end."""
    before, began = process.cpu_times(), time.monotonic()
    time.sleep(seconds)
    after, took = process.cpu_times(), time.monotonic() - began
    used = after.user + after.system - before.user - before.system
    return what, f"{took:.0f}", f"{used / took:.2%}", f"{process.memory_info().rss / 1e6:.0f} MB"


def calm(home: Path, minutes: float) -> None:
    end = time.monotonic() + minutes * 60
    counts = {"long prompts": 0, "short requests": 0, "long answers": 0, "idle phases": 0}
    with deployment(home, 2), busy_cores(), watcher(home), ThreadPoolExecutor(32) as pool:
        numbers = itertools.count()
        while time.monotonic() < end:
            for _ in pool.map(lambda _: ask(random.randint(200_000, LONG), 40), range(2)):
                counts["long prompts"] += 1
            for _ in pool.map(lambda _: ask(random.randint(20, 2000), random.randint(20, 200)), range(48)):
                counts["short requests"] += 1
            for _ in pool.map(lambda _: ask(500, 1500), range(4)):
                counts["long answers"] += 1
            time.sleep(20)
            counts["idle phases"] = next(numbers) + 1
    lines = (home / "watch.log").read_text().splitlines()
    wrong = [line for line in lines if any(word in line for word in (" hung: ", " dead: ", " warning: "))]
    load = os.getloadavg()[1]
    row = (f"{minutes:g}", f"{load:.1f}", *map(str, counts.values()), str(len(wrong)))
    print(table(("minutes", "load", *counts, "false verdicts"), [row]))
    print("\n".join(wrong))


def chat(stop: threading.Event, client: int) -> None:
    while not stop.is_set():
        with contextlib.suppress(OSError):
            ask(400 + client, 200)


def ask(prompt: int, tokens: int) -> None:
    """One request whose prompt no cache has seen."""
    ids = [random.randint(10, 50_000), random.randint(10, 50_000), *range(prompt - 2)]
    body = {"input_ids": ids, "sampling_params": {"max_new_tokens": tokens, "ignore_eos": True}}
    url, head = f"http://127.0.0.1:{PORT}/generate", {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), head), timeout=590) as answer:
        answer.read()


@contextlib.contextmanager
def deployment(home: Path, servers: int) -> Iterator[None]:
    profile = home / "watched.yaml"
    profile.write_text(PROFILE.format(half=", ".join(["{}"] * (servers // 2)), port=PORT))
    timed((PDLAUNCH, "up", str(profile)))
    try:
        yield
    finally:
        timed((PDLAUNCH, "down", "--now", "-d", "watched"))


@contextlib.contextmanager
def watcher(home: Path) -> Iterator[psutil.Process]:
    """A watcher of our own; its story goes into ``watch.log``."""
    with (home / "watch.log").open("w") as log:
        process = subprocess.Popen([PDLAUNCH, "watch", "-d", "watched"], stdout=log, stderr=log)
    try:
        yield psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(10)


@contextlib.contextmanager
def busy_cores() -> Iterator[None]:
    """Something that takes whatever it gets of each core."""
    burning = [subprocess.Popen(["nice", sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in burning:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
