"""Plan in, files out: serve scripts and what the backend reads. The same plan gives the same bytes."""

from __future__ import annotations

from launcher.plan.model import Plan
from launcher.render.bundle import Bundle, RenderedFile
from launcher.render.layout import Layout

__all__ = ["Bundle", "Layout", "RenderedFile", "render"]


def render(plan: Plan, layout: Layout) -> Bundle:
    """Every file of a generation; raises InputError for a value that no process can receive."""
    from launcher.render.activate import NAME, activate_script
    from launcher.render.scripts import serve_script  # Jinja is loaded only by who renders

    if plan.backend == "systemd":
        from launcher.render.systemd import render as supervisor
    else:
        from launcher.render.supervisord import render as supervisor

    scripts = {f"{service.name}.sh": serve_script(plan, service, layout) for service in plan.services}
    return Bundle({**scripts, NAME: activate_script(plan), **supervisor(plan, layout)})
