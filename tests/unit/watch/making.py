"""Looks to judge: servers of a pair, a tick apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from launcher.plan import Plan
from launcher.watch import Body, Counters, Judge, Look, Process, Rank, Router, Server, Verdict, Worker
from launcher.watch.judge import INTERVAL

from ..compare.making import plan, service

URLS = {"prefill-0": "http://127.0.0.1:31000", "decode-0": "http://127.0.0.1:31010"}
EPOCH = 1_800_000_000.0


def pair(decode: Mapping[str, str] | None = None, router: Mapping[str, str] | None = None) -> Plan:
    """A plan of one prefill, one decode (with variables) and a router (with flags)."""
    return plan(
        service("prefill-0", port=31000),
        service("decode-0", port=31010, env=decode),
        service("router", port=8000, args=router),
    )


def body(pid: int = 100, **changes: Any) -> Body:
    main = Process(pid, pid, "python -m sglang.launch_server")
    made = Body(main, EPOCH, (Process(pid + 1, pid, "sglang::scheduler"),))
    return replace(made, **changes)


def server(*, pid: int = 100, counters: Counters | None = None, **rank: Any) -> Server:
    """A server that answers; `rank` is what its one scheduler says."""
    return Server(
        at=0.0, body=body(pid), answer="yes", ranks=(Rank(**rank),), counters=counters or Counters(), counters_at=1.0
    )


class Watching:
    """Judges look after look, two seconds apart; what is not said again stays as it was."""

    def __init__(self, plan: Plan | None = None, *, patience: float = 10.0) -> None:
        self._judge = Judge(plan or pair(), patience=patience)
        self._at = 0.0
        self.router: Router | None = Router(0.0, body(300), "yes")
        self.servers: dict[str, Server] = {"prefill-0": server(pid=100), "decode-0": server(pid=200)}
        self.turns = {"prefill-0": True, "decode-0": True}
        """Whether the scheduler goes on looking at its queues."""

    def look(self, seconds: float = INTERVAL, **more: Any) -> Verdict:
        """One more look after `seconds`."""
        self._at += seconds
        for name, turning in self.turns.items():
            if turning and name in self.servers:
                ranks = tuple(replace(r, looked=EPOCH + self._at) for r in self.servers[name].ranks)
                self.servers[name] = replace(self.servers[name], ranks=ranks)
        servers = {name: replace(s, at=self._at) for name, s in self.servers.items()}
        return self._judge.take(Look(self._at, EPOCH + self._at, 1, servers, self.router, **more))

    def wait(self, seconds: float) -> Verdict:
        """Look on for `seconds` while nothing changes."""
        verdict = self.look()
        for _ in range(int(seconds / INTERVAL) - 1):
            verdict = self.look()
        return verdict

    def say(self, name: str, **rank: Any) -> None:
        """What a server's scheduler says from now on."""
        old = self.servers[name]
        self.servers[name] = replace(old, ranks=(replace(old.ranks[0], **rank),))

    def count(self, name: str, **counters: Any) -> None:
        """What a server counts from now on."""
        old = self.servers[name]
        self.servers[name] = replace(old, counters=replace(old.counters, **counters))

    def change(self, name: str, **changes: Any) -> None:
        """What else is seen of a server from now on."""
        self.servers[name] = replace(self.servers[name], **changes)


def told(verdict: Verdict) -> Mapping[str, str]:
    """What is wrong: signature to service."""
    return {finding.signature: finding.service for finding in verdict.findings}


def front(**workers: Mapping[str, Any]) -> Router:
    """A router that sees its workers so; names with ``_`` for ``-``."""
    seen = {name.replace("_", "-"): changes for name, changes in workers.items()}
    return Router(0.0, body(300), "yes", tuple(Worker(url, **seen.get(name, {})) for name, url in URLS.items()))
