"""Tells hung from busy by progress: what is read in a look, and what it comes to. Pure: who reads is in operations."""

from launcher.watch.judge import INTERVAL, PATIENCE, Judge
from launcher.watch.sample import Body, Counters, Look, Process, Rank, Router, Server, Spread, Worker
from launcher.watch.verdict import Finding, Service, Verdict

__all__ = [
    "INTERVAL",
    "PATIENCE",
    "Body",
    "Counters",
    "Finding",
    "Judge",
    "Look",
    "Process",
    "Rank",
    "Router",
    "Server",
    "Service",
    "Spread",
    "Verdict",
    "Worker",
]
