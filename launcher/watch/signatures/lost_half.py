"""One half of the pair has a request that the other half knows nothing of: it waits for a time-out."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.watch.scene import Scene, requests, span
from launcher.watch.verdict import Finding

NAME = "lost-half"
ABOUT = "decode is idle while prefill has requests in flight, or the other way round"
SOURCE = "https://github.com/sgl-project/sglang/issues/8177, https://github.com/lightseekorg/smg/issues/2382"

_LONGER = 2.5
"""Times the patience, as for a transfer."""


def find(scene: Scene) -> Iterator[Finding]:
    """Prefills that hold what no decode asks for, and decodes that wait for what no prefill has."""
    prefills, decodes = list(scene.of("prefill")), list(scene.of("decode"))
    refused = scene.look.router and any(worker.circuit for worker in scene.look.router.workers)
    if not prefills or not decodes or scene.prefills_get_on() or refused:
        return  # where the router has shut a server out it sent one half only: that is told as what it is
    asked = sum(server.requests for _, server, _ in decodes)
    held = sum(server.requests for _, server, _ in prefills)
    for ours, theirs, others, where in ((prefills, asked, decodes, "in flight"), (decodes, held, prefills, "waiting")):
        if theirs:
            continue
        role = others[0][0].role
        for member, server, track in ours:
            ago = track.idle_for(scene.now)
            between = sum(rank.between for rank in server.ranks) - scene.leftovers.get(member.name, 0)
            if between > 0 and ago >= _LONGER * track.patience(scene.asked):
                words = f"{requests(between)} {where} for {span(ago)}, and {role} is idle: it knows nothing of them"
                yield scene.found(NAME, "hung", member.name, words, ago, scene.names(role))
