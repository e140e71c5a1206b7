"""Requests that take exactly as long as a time-out, and come back with 200: no error rate shows them."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.watch.scene import Scene, requests
from launcher.watch.verdict import Finding

NAME = "latency-floor"
ABOUT = "requests take as long as a configured time-out, which is named"
SOURCE = "https://github.com/sgl-project/sglang/pull/32267"


def find(scene: Scene) -> Iterator[Finding]:
    """One for each time-out that requests run into; two of the same service and length are told as one."""
    told: set[tuple[str, float]] = set()
    for limit, (number, since) in scene.floors.reached(scene.now).items():
        if (limit.service, limit.seconds) in told:
            continue
        told.add((limit.service, limit.seconds))
        knobs = " or ".join(x.knob for x in scene.floors.limits if limit.alike(x))
        words = f"{requests(number)} took {limit.seconds:g} s, which is {knobs}: they wait for what never comes"
        yield scene.found(f"{NAME}:{limit.knob}", "warning", limit.service, words, scene.now - since)
