"""KV that never arrives: both halves of a request wait for each other, and neither has an error."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.watch.scene import Scene, requests, span
from launcher.watch.verdict import Finding

NAME = "frozen-transfer"
ABOUT = "requests wait for their KV, no transfer is done, and the prefills compute nothing that would explain it"
SOURCE = "https://github.com/sgl-project/sglang/pull/31800"

_LONGER = 2.5
"""Times the patience: one long transfer over a slow path tells nothing until it is done."""


def find(scene: Scene) -> Iterator[Finding]:
    """Decodes that wait for KV while nothing moves; their prefills are the partners."""
    if scene.prefills_get_on():
        return
    moved = max((track.moved for _, _, track in scene.of("prefill", "decode")), default=0.0)
    sending = sum(rank.inflight for _, server, _ in scene.of("prefill") for rank in server.ranks)
    for member, server, track in scene.of("decode"):
        waiting = sum(rank.transfer + rank.prealloc for rank in server.ranks)
        ago = min(track.idle_for(scene.now), scene.now - moved)
        if waiting and sending and not server.running and ago >= _LONGER * track.patience(scene.asked):
            words = (
                f"{requests(waiting)} waiting for KV, {sending} in flight at the prefill, nothing moved for {span(ago)}"
            )
            yield scene.found(NAME, "hung", member.name, words, ago, scene.names("prefill"))
