"""Generations, journal, pointer, writer and holds: what pdlaunch keeps, and in which order it writes it."""

from launcher.store.generation import About, Generation, Seal
from launcher.store.holds import Hold, claim, holders, release, resources
from launcher.store.identity import plan_digest, service_digests
from launcher.store.journal import Event, Journal
from launcher.store.names import give_name, named, names_of, take_name
from launcher.store.pending import Pending
from launcher.store.places import cache_dir, deployments, layout, run_dir, state_dir
from launcher.store.recovery import Recovery
from launcher.store.store import Store
from launcher.store.who import who
from launcher.store.writer import Writing, writer, writing

__all__ = [
    "About",
    "Event",
    "Generation",
    "Hold",
    "Journal",
    "Pending",
    "Recovery",
    "Seal",
    "Store",
    "Writing",
    "cache_dir",
    "claim",
    "deployments",
    "give_name",
    "holders",
    "layout",
    "named",
    "names_of",
    "plan_digest",
    "release",
    "resources",
    "run_dir",
    "service_digests",
    "state_dir",
    "take_name",
    "who",
    "writer",
    "writing",
]
