"""Requests run or queue, the scheduler turns, and no token comes: the oldest sign there is of a hang."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.watch.sample import Server
from launcher.watch.scene import Member, Scene, requests, span
from launcher.watch.verdict import Finding

NAME = "no-token"
ABOUT = "the queue is above zero and no token is generated"
SOURCE = "https://github.com/vllm-project/vllm/pull/41834, https://github.com/sgl-project/sglang/pull/32379"


def find(scene: Scene) -> Iterator[Finding]:
    """Servers that have work which waits for nobody else, and that do not get on with it."""
    for member, server, track in scene.of("prefill", "decode", "aggregated"):
        ago = track.idle_for(scene.now)
        if ago < track.patience(scene.asked) or (server.body and server.body.compiling):
            continue
        if words := _own_work(member, server):
            what = "nothing computed" if member.role == "prefill" else "no token"
            yield scene.found(NAME, "hung", member.name, f"{words}, {what} for {span(ago)}{_held(server)}", ago)


def _own_work(member: Member, server: Server) -> str:
    queued = sum(rank.own for rank in server.ranks)
    if member.role == "prefill" and any(rank.inflight for rank in server.ranks):
        return ""  # what it has computed fills its memory until a decode takes it: no room is no hang of its own
    if server.running:
        return f"{requests(server.running)} running" + (f", {queued} queued" if queued else "")
    return f"{requests(queued)} queued" if queued else ""


def _held(server: Server) -> str:
    used, room = (sum(getattr(r, name) for r in server.ranks) for name in ("used_tokens", "capacity_tokens"))
    return f", {used:,} of {room:,} tokens of KV in use" if room else ""
