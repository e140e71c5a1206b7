"""A process that a service needs is gone: its requests wait for a minute and more before the parent says so."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.watch.sample import Body
from launcher.watch.scene import Scene
from launcher.watch.verdict import Finding

NAME = "died"
ABOUT = "a service, or a scheduler of it, is gone while others wait for it"
SOURCE = "https://github.com/sgl-project/sglang/issues/12779"


def find(scene: Scene) -> Iterator[Finding]:
    """Services without a process, and those that lost a worker while their main process lingers."""
    for name in scene.members:
        server = scene.look.servers.get(name)
        if server is None or server.body is None:
            yield scene.found(NAME, "dead", name, "its process is gone", 0.0)
        else:
            yield from _lost(scene, name, server.body)
    router = scene.look.router
    if router is not None and router.body is None:
        yield scene.found(NAME, "dead", "router", "its process is gone: nobody answers clients", 0.0)


def _lost(scene: Scene, name: str, body: Body) -> Iterator[Finding]:
    for worker in body.lost[:1]:
        words = f"its process {worker.pid} ({worker.name}) is gone; {body.main.pid} lingers without it"
        yield scene.found(NAME, "dead", name, words, 0.0)
