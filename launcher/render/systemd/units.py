"""Plan in, units out: one per service, the target above them, and the one-shots around them."""

from __future__ import annotations

from collections.abc import Mapping

from launcher.plan.model import Plan
from launcher.render.bundle import RenderedFile
from launcher.render.layout import Layout


def render(plan: Plan, layout: Layout) -> Mapping[str, RenderedFile]:
    """The files that a generation adds for systemd, by their names in the bundle.

    Raises InputError for a name or path that a unit cannot hold.
    """
    raise NotImplementedError
