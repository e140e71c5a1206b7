"""The router refuses a server that may be fine, while its own /health and /readiness say 200."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.watch.scene import Scene
from launcher.watch.verdict import Finding

NAME = "open-circuit"
ABOUT = "the router's circuit to a server is open: clients get 503 though /health and /readiness are 200"
SOURCE = "https://github.com/sgl-project/sglang/issues/31206, https://github.com/sgl-project/sglang/issues/25811"

_OPEN = 1


def find(scene: Scene) -> Iterator[Finding]:
    """The router, once for each server that it shut out."""
    names = {member.url: member.name for member in scene.members.values()}
    for worker in scene.look.router.workers if scene.look.router else ():
        name = names.get(worker.url, worker.url)
        if worker.circuit == _OPEN:
            words = (
                f"its circuit to {name} is open: clients get 503 while /health and /readiness say 200 "
                "(knobs: cb-failure-threshold, cb-timeout-duration-secs, disable-circuit-breaker)"
            )
            yield scene.found(f"{NAME}:{name}", "warning", "router", words, 0.0)
