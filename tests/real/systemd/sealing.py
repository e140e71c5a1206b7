"""Generations without an `up`: sealed outside a box, so that plain systemctl and `activate` can bring them up in it."""

from __future__ import annotations

from pathlib import Path

from launcher.operations.caches import prepare_caches
from launcher.operations.checking import check
from launcher.operations.sealing import seal
from launcher.store import Store, layout, writer

from ...deployments import Deployment


def sealed(deployment: Deployment) -> Path:
    """The folder of the next generation of a deployment, for systemd."""
    checked = check(deployment.profile, backend="systemd")
    place = layout(deployment.name)
    with writer(place, "seal", "a test"):
        generation, _ = seal(checked, Store(place), backend="systemd", by="a test", why=None)
    prepare_caches(generation.plan, place)
    return generation.path
