"""The router of the plan."""

from __future__ import annotations

from math import ceil

from launcher.plan import commands, environment
from launcher.plan.commands import Worker
from launcher.plan.context import OWN, Context
from launcher.plan.model import Argument, Service
from launcher.plan.ports import WATCH
from launcher.profile import Merged, Router, settings_of


def router(context: Context, spec: Router) -> Service:
    """The router as a service: it knows its workers from its own command line."""
    settings = settings_of(context.loaded, "router", 0)
    facts = context.facts.router
    venv = spec.venv or context.profile.engine.venv or "VENV"
    ports = {use: port for use, port in context.ports["router"].ports.items() if use != WATCH}
    return Service(
        name="router",
        role="router",
        argv=(
            Argument(
                words=(facts.python if facts else f"{venv}/bin/python", "-m", "sglang_router.launch_router"),
                origin=context.origin("router", "venv") if spec.venv else context.origin("router"),
            ),
            *commands.router_flags(
                (spec.host, context.origin("router", "host")),
                (spec.port, context.origin("router", "port")),
                (ports["metrics"], context.origin("router", "metrics_port")),
                _workers(context),
            ),
            *_startup(context, settings),
            *commands.profile_flags(settings.args, context.file),
        ),
        env=environment.layered(
            environment.base("router", facts, context.facts, context.user()),
            environment.written(settings.env, context.file),
            without=environment.taken_away(settings.env),
        ),
        secrets=environment.secrets(settings.secrets, context.file),
        host=spec.host,
        ports=ports,
        user=context.profile.engine.user,
    )


def _startup(context: Context, settings: Merged) -> list[Argument]:
    """The router starts beside its workers: it looks for them each second (by itself every 30) as long as `up` does."""
    within = context.origin("ready", "within").model_copy(update={"note": "ready.within"})
    wanted = {
        "worker-startup-check-interval": ("1", OWN),
        "worker-startup-timeout-secs": (str(ceil(context.profile.ready.within)), within),
    }
    return [
        Argument(words=(f"--{flag}", value), origin=origin)
        for flag, (value, origin) in wanted.items()
        if flag not in settings.args
    ]


def _workers(context: Context) -> list[Worker]:
    host = context.profile.engine.host
    ports = {slot.name: context.ports[slot.name].ports for slot in context.slots}
    return [
        Worker(f"http://{host}:{ports[slot.name]['http']}", slot.role, ports[slot.name].get("bootstrap"))
        for slot in context.slots
    ]
