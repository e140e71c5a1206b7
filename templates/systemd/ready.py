"""Ends with 0 when tokens came back on every prefill/decode path, and then through the router; says how far it is.

Standard library only: runs without pdlaunch, as a unit or by hand. ``ready.json`` beside it says whom to ask. Prompts
are random, so that no cache has them, and longer than two prefill chunks: a short one proves nothing of a hang that
needs context.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import SimpleQueue
from typing import Any

NEW_TOKENS = 4
"""Prefill makes the first token itself: only a second one proves that decode ran."""
FIRST, LAST = 16, 255
"""Token ids that every vocabulary has."""
INTERVAL = 0.5
TIMED_OUT = (0, "timed out")
REMIND = 60.0
"""Seconds between two lines about the same phase."""


class NotReadyError(Exception):
    """Why there are no tokens."""


class Deployment:
    """Whom to ask, from ``ready.json``; `user` where the units are a user manager's."""

    def __init__(self, folder: Path, *, user: bool) -> None:
        self.facts: dict[str, Any] = json.loads((folder / "ready.json").read_text("utf-8"))
        self.systemctl = ["systemctl", "--user"] if user else ["systemctl"]

    def role(self, role: str) -> list[Any]:
        """The servers of one role."""
        return [server for server in self.facts["servers"] if server["role"] == role]

    def edges(self) -> list[tuple[Any, Any]]:
        """Every prefill with every decode."""
        return [(prefill, decode) for prefill in self.role("prefill") for decode in self.role("decode")]

    def key(self, server: Any) -> str | None:
        """What `server` asks clients for: systemd's copy of the file where there is one."""
        name = server["key"]
        if name is None:
            return None
        credential = Path(os.environ.get("CREDENTIALS_DIRECTORY", "/nowhere")) / name
        file = credential if credential.exists() else Path(self.facts["keys"][name])
        return file.read_text("utf-8").rstrip("\n")

    def ask(self, server: Any, method: str, path: str, body: Any = None, timeout: float = 5.0) -> tuple[int, str]:
        """Status and text of an answer; status 0 where there is none, with the reason as its text."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(server["host"], server["host"])  # noqa: S104
        connection = http.client.HTTPConnection(host, server["port"], timeout=timeout)
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            key = self.key(server)
            headers |= {"Authorization": f"Bearer {key}"} if key else {}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode("utf-8", "replace")
        except TimeoutError:
            return TIMED_OUT
        except (OSError, http.client.HTTPException) as error:
            return 0, str(error) or type(error).__name__
        finally:
            connection.close()

    def state(self, server: Any) -> dict[str, str]:
        """What systemd says of the server's unit; nothing where it cannot be asked."""
        properties = "ActiveState,SubState,Result,ActiveEnterTimestampMonotonic"
        try:
            shown = subprocess.run(
                [*self.systemctl, "show", "-p", properties, server["unit"]],
                capture_output=True, text=True, timeout=10, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            return {}
        return dict(line.split("=", 1) for line in shown.stdout.splitlines() if "=" in line)


def wait_loaded(deployment: Deployment, deadline: float) -> None:
    """Return when every server says that it is ready; raises NotReadyError for one that will not be."""
    began = time.monotonic()
    phases = {server["name"]: "" for server in deployment.facts["servers"]}
    said = dict.fromkeys(phases, 0.0)
    waiting = list(deployment.facts["servers"])
    while waiting:
        for server in list(waiting):
            name, now = server["name"], time.monotonic()
            phase = phase_of(deployment, server)
            if phase == "ready":
                waiting.remove(server)
            if phase != phases[name] or now - said[name] > REMIND:
                say(f"{name}  {phase}, {now - began:.0f} s")
                phases[name], said[name] = phase, now
        if waiting and time.monotonic() > deadline:
            late = ", ".join(f"{server['name']} ({phases[server['name']]})" for server in waiting)
            raise NotReadyError(f"not ready after {time.monotonic() - began:.0f} s: {late}")
        time.sleep(INTERVAL if waiting else 0)


def phase_of(deployment: Deployment, server: Any) -> str:
    """How far a server is; raises NotReadyError where it is not going to come."""
    status, text = deployment.ask(server, "GET", "/ready")
    if status == 200:
        return "ready"
    unit = deployment.state(server)
    if unit.get("ActiveState") in {"failed", "inactive"}:
        why = f"it failed: {unit.get('Result')}" if unit["ActiveState"] == "failed" else "it is not started"
        raise NotReadyError(f"{server['name']}  {why}; its words: journalctl -u {server['unit']}")
    if unit.get("SubState") == "auto-restart":
        return "ended by itself, is started again"
    return f"loading, says {status}" if status else "starting" if "refused" in text else f"silent: {text}"


def prove(deployment: Deployment, deadline: float) -> None:
    """Ask on every path, then through the router; raises NotReadyError for the first that gives no tokens."""
    for prefill, decode in deployment.edges():
        path = f"{prefill['name']} -> {decode['name']}"
        judge(path, deployment, ask_edge(deployment, prefill, decode, left(deadline)))
    for server in deployment.role("aggregated"):
        judge(server["name"], deployment, ask_whole(deployment, server, left(deadline)))
    router = deployment.facts["router"]
    if router:
        wait_router(deployment, router, deadline)
        judge("through the router", deployment, ask_whole(deployment, router, left(deadline)))


def wait_router(deployment: Deployment, router: Any, deadline: float) -> None:
    """The router learns of its workers by itself, within a second or so."""
    while deployment.ask(router, "GET", "/readiness")[0] != 200:
        if deployment.state(router).get("ActiveState") in {"failed", "inactive"}:
            raise NotReadyError(f"router  it does not run; its words: journalctl -u {router['unit']}")
        if time.monotonic() > deadline:
            raise NotReadyError("router  it found no healthy workers in time")
        time.sleep(INTERVAL)


def ask_edge(deployment: Deployment, prefill: Any, decode: Any, timeout: float) -> str | None:
    """Send both halves of one request, as the router does; None, or why no tokens came.

    Where one half hangs the other waits for it: a time-out of both names neither.
    """
    body = prompt(deployment) | {
        "bootstrap_host": prefill["host"],
        "bootstrap_port": prefill["bootstrap"],
        "bootstrap_room": random.SystemRandom().randrange(2**63),
    }
    answers: SimpleQueue[tuple[Any, tuple[int, str]]] = SimpleQueue()

    def send(server: Any) -> None:
        answers.put((server, deployment.ask(server, "POST", "/generate", body, timeout)))

    for server in (prefill, decode):
        threading.Thread(target=send, args=(server,), daemon=True).start()
    late = 0
    for _ in range(2):
        server, answer = answers.get()
        if answer == TIMED_OUT:
            late += 1
            continue
        why = failure(server, answer, deployment, NEW_TOKENS if server is decode else 0)
        if why:  # the other half may wait for minutes for this one
            return why
    return f"no answer, timed out after {timeout:.0f} s" if late else None


def ask_whole(deployment: Deployment, server: Any, timeout: float) -> str | None:
    """Send one whole request to a server or the router; None, or why no tokens came."""
    answer = deployment.ask(server, "POST", "/generate", prompt(deployment), timeout)
    return failure(server, answer, deployment, NEW_TOKENS)


def prompt(deployment: Deployment) -> dict[str, Any]:
    """A request that no cache has seen."""
    source = random.SystemRandom()
    return {
        "input_ids": [source.randint(FIRST, LAST) for _ in range(deployment.facts["prompt"])],
        "sampling_params": {"max_new_tokens": NEW_TOKENS, "temperature": 0, "ignore_eos": True},
    }


def failure(server: Any, answer: tuple[int, str], deployment: Deployment, least: int) -> str | None:
    """What is wrong with an answer, or None."""
    status, text = answer
    if status == 0:
        return f"{server['name']} did not answer: {text}"
    if status != 200:
        return f"{server['name']} answered {status}: {' '.join(text.split())[:300]}"
    try:
        meta = json.loads(text)["meta_info"]
        got, took = meta.get("completion_tokens") or 0, meta.get("prompt_tokens")
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{server['name']} answered something else than tokens: {text[:300]}"
    if took not in (deployment.facts["prompt"], deployment.facts["prompt"] + 1):
        return f"{server['name']} took {took} tokens of a prompt of {deployment.facts['prompt']}"
    return f"{server['name']} answered {got} of {least} tokens" if got < least else None


def judge(path: str, deployment: Deployment, why: str | None) -> None:
    """Say that a path gave tokens; raises NotReadyError where it did not."""
    if why:
        raise NotReadyError(f"token  {path}: {why}")
    say(f"token  {deployment.facts['prompt']:,} in, {NEW_TOKENS} out, {path}")


def left(deadline: float) -> float:
    """Seconds until the deadline, at least one."""
    return max(1.0, deadline - time.monotonic())


def say(text: str) -> None:
    """One line for the journal, or the terminal."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def given() -> Deployment:
    """The deployment that this script lies beside."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--user", action="store_true", help="ask the user's service manager about the units")
    return Deployment(Path(__file__).resolve().parent, user=parser.parse_args().user)


def main() -> int:
    """Wait, ask, and say how it ended."""
    deployment = given()
    deadline = time.monotonic() + deployment.facts["within"]
    try:
        wait_loaded(deployment, deadline)
        prove(deployment, deadline)
    except NotReadyError as error:
        say(f"error: {error}")
        return 1
    say(f"ready  proven to {deployment.facts['prompt']:,} tokens")
    return 0


if __name__ == "__main__":
    sys.exit(main())
