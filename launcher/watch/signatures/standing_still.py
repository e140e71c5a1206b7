"""The scheduler does not look at its queues any more: it stands in a kernel, in a lock, or under SIGSTOP."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.watch.sample import Server
from launcher.watch.scene import Member, Scene, requests, span
from launcher.watch.track import Track, has_work
from launcher.watch.verdict import Finding

NAME = "standing-still"
ABOUT = "requests wait, and the scheduler has not looked at its queues: /health and /metrics may well answer"
SOURCE = "https://github.com/sgl-project/sglang/issues/33549, https://github.com/sgl-project/sglang/pull/32949"


def find(scene: Scene) -> Iterator[Finding]:
    """Servers whose scheduler does not turn, or that answer nothing at all, while somebody waits for them."""
    for member, server, track in scene.of("prefill", "decode", "aggregated"):
        patience = track.patience(scene.asked)
        silent = 0.0 if server.answer == "yes" else scene.now - track.answered
        still = max(track.standing(scene.now), silent)
        if still < patience or (server.body and server.body.compiling):
            continue
        if track.idle_for(scene.now) >= patience or _awaited(scene, member, server):
            yield scene.found(NAME, "hung", member.name, _words(scene, server, track, silent, still), still)


def _words(scene: Scene, server: Server, track: Track, silent: float, still: float) -> str:
    who = "it answers nothing" if silent >= still else "its scheduler has not looked at its queues"
    held = [p for p in (server.body.main, *server.body.workers) if p.stopped] if server.body else []
    why = f"; pid {held[0].pid} ({held[0].name}) is stopped" if held else ""
    count = max(server.requests, int(server.counters.open))
    have = f"{requests(count)}, no token for {span(scene.now - track.tokens)}; " if count else "requests wait for it; "
    return f"{have}{who} for {span(still)}{why}"


def _awaited(scene: Scene, member: Member, server: Server) -> bool:
    """Whether others wait for a server that knows of no request itself, since it stood still before they came."""
    if has_work(server):
        return False
    if scene.look.router and any(w.active for w in scene.look.router.workers if w.url == member.url):
        return True
    return member.role == "prefill" and any(
        rank.prealloc + rank.transfer for _, decode, _ in scene.of("decode") for rank in decode.ranks
    )
