"""After a server was started again alone: asks for tokens on every path, and restarts a partner where none come.

Where a path gives no token in time, and the decode counts none either, the older of its two ends is restarted,
once: it may still know its partner as it was before. Standard library only; ``ready.py`` lies beside it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from ready import Deployment, NotReadyError, ask_edge, given, say, wait_loaded, wait_router

TOKENS = "sglang:generation_tokens_total"


def mend(deployment: Deployment) -> None:
    """Ask, restart what has to be, ask again; raises NotReadyError where that did not help."""
    deadline = time.monotonic() + deployment.facts["within"]
    wait_loaded(deployment, deadline)
    partners = broken(deployment)
    for server in partners:
        say(f"{server['name']}  is restarted: its paths give no tokens, and it is the one that stayed")
        subprocess.run([*deployment.systemctl, "restart", server["unit"]], check=False)
    if partners:
        deadline = time.monotonic() + deployment.facts["within"]
        wait_loaded(deployment, deadline)
        if broken(deployment):
            raise NotReadyError("a restart of the partner did not help: left as it is, see `pdlaunch status`")
    if router := deployment.facts["router"]:
        wait_router(deployment, router, deadline)
        say("router  has healthy workers again")


def broken(deployment: Deployment) -> list[Any]:
    """The older end of each path that gives no tokens, each once."""
    found, patience = {}, deployment.facts["patience"]
    for prefill, decode in deployment.edges():
        before = tokens(deployment, decode)
        why = ask_edge(deployment, prefill, decode, patience)
        path = f"{prefill['name']} -> {decode['name']}"
        if why is None:
            say(f"token  {deployment.facts['prompt']:,} in, {path}")
        elif "timed out" in why and tokens(deployment, decode) > before:
            say(f"busy  {path}: no answer in {patience} s, but {decode['name']} makes tokens")
        else:
            say(f"token  {path}: {why}")
            older = min((prefill, decode), key=lambda server: since(deployment, server))
            found[older["name"]] = older
    return list(found.values())


def tokens(deployment: Deployment, server: Any) -> float:
    """What the server has generated since it was started, over all its ranks; 0 where it does not say."""
    _, text = deployment.ask(server, "GET", "/metrics")
    lines = [line for line in text.splitlines() if line.startswith(TOKENS)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def since(deployment: Deployment, server: Any) -> int:
    """When the server's unit was started, in microseconds since boot."""
    return int(deployment.state(server).get("ActiveEnterTimestampMonotonic") or 0)


def writer(deployment: Deployment) -> str | None:
    """Who changes the deployment now with pdlaunch, and proves it by itself; None where nobody does."""
    try:
        note = json.loads((Path(deployment.facts["state"]) / "writer.lock").read_text("utf-8"))
        process = note["process"]
        fields = Path(f"/proc/{process['pid']}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return str(note["operation"]) if int(fields[19]) == process["started"] else None
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None


def main() -> int:
    """Mend, and say how it ended."""
    deployment = given()
    if operation := writer(deployment):
        say(f"`pdlaunch {operation}` is at work and asks by itself: nothing to do here")
        return 0
    try:
        mend(deployment)
    except NotReadyError as error:
        say(f"error: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
