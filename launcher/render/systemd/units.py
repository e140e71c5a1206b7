"""Plan in, units out: one per service, the target above them, and the one-shots around them."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from launcher.plan.model import Plan, Service
from launcher.render.bundle import RenderedFile
from launcher.render.layout import Layout
from launcher.render.systemd import names
from launcher.render.systemd.lasting import boot_text, boot_unit
from launcher.render.systemd.placing import FOLDER, SUFFIX
from launcher.render.systemd.quoting import inside, program, rest, word
from launcher.render.systemd.readiness import keys, ready_json
from launcher.render.systemd.writable import writable
from launcher.render.templates import fill
from launcher.shipped import shipped

_SCRIPTS = ("as-recorded", "came-back", "ready.py", "rejoin.py")
"""Shipped as they are; each finds its generation by its own place."""


def render(plan: Plan, layout: Layout) -> Mapping[str, RenderedFile]:
    """The files that a generation adds for systemd, by their names in the bundle.

    Raises InputError for a name or path that a unit cannot hold.
    """
    units = {names.service_unit(plan.deployment, s.name): _service(plan, s, layout) for s in plan.services}
    units |= _around(plan, layout)
    folder = shipped("templates") / "systemd"
    scripts = {name: RenderedFile((folder / name).read_text("utf-8"), mode=0o555) for name in _SCRIPTS}
    files = {f"{name}{SUFFIX}": RenderedFile(text) for name, text in units.items()} | scripts
    files["ready.json"] = RenderedFile(ready_json(plan, layout))
    files["boot"] = RenderedFile(boot_text(plan.deployment, layout.generations / "0", "multi-user.target"))
    return {f"{FOLDER}/{name}": file for name, file in files.items()}


def _service(plan: Plan, service: Service, layout: Layout) -> str:
    unit = names.service_unit(plan.deployment, service.name)
    return fill(
        "systemd/service.j2",
        **_common(plan),
        name=service.name,
        digest=service.digest()[:8],
        identifier=unit.removesuffix(".service"),
        description=rest(_description(plan, service)),
        mounts=_mounts(plan, layout),
        user=rest(service.user) if service.user else None,
        cards=service.gpus,
        all_cards=sorted({card for each in plan.services for card in each.gpus}),
        script=inside(program(str(layout.generations)), f"{service.name}.sh"),
        as_recorded=_script(layout, "as-recorded"),
        came_back=_script(layout, "came-back"),
        rejoins=service.role in {"prefill", "decode"},
        kill=ceil(plan.stop.kill),
        tries=plan.restart.tries,
        within=ceil(plan.restart.within),
        secrets=[(rest(s.name), rest(s.file)) for s in service.secrets],
        writable=[word(path) for path in writable(plan, service, layout)],
    )


def _around(plan: Plan, layout: Layout) -> dict[str, str]:
    """The units that serve nothing themselves."""
    deployment = plan.deployment
    templates = {
        names.target_unit(deployment): ("target", "prefill/decode serving"),
        names.ready_unit(deployment): ("ready", "tokens come back"),
        names.rejoin_unit(deployment): ("rejoin", "tokens come back after a restart"),
        names.watch_unit(deployment): ("watch", "pdlaunch watch"),
        names.verify_unit(deployment): ("verify.service", "pdlaunch verify"),
        names.verify_timer(deployment): ("verify.timer", "pdlaunch verify, each night"),
    }
    first = plan.services[0]
    values = _common(plan) | {
        "user": rest(first.user) if first.user else None,
        "path": word(next((v.value for v in first.env if v.name == "PATH"), "/usr/local/bin:/usr/bin:/bin")),
        "within": ceil(plan.ready.within),
        "secrets": [(s, rest(file)) for s, file in keys(plan).items()],
    }
    return {
        unit: fill(
            f"systemd/{template}.j2",
            **values,
            description=rest(f"{deployment}: {what}"),
            identifier=unit.rpartition(".")[0],
            script=_script(layout, f"{template}.py"),
        )
        for unit, (template, what) in templates.items()
    }


def _common(plan: Plan) -> dict[str, Any]:
    deployment = plan.deployment
    return {
        "deployment": deployment,
        "services": [names.service_unit(deployment, s.name) for s in plan.services],
        "target": names.target_unit(deployment),
        "ready": names.ready_unit(deployment),
        "rejoin": names.rejoin_unit(deployment),
        "boot": boot_unit(deployment),
        "watch": names.watch_unit(deployment),
        "timer": names.verify_timer(deployment),
        "service": names.verify_unit(deployment),
    }


def _description(plan: Plan, service: Service) -> str:
    cards = f" on cards {', '.join(map(str, service.gpus))}" if service.gpus else ""
    return f"{plan.deployment}: {service.name}{cards}, port {service.ports['http']}"


def _mounts(plan: Plan, layout: Layout) -> str:
    """What must be mounted: a unit that does not say so is started before its model is there."""
    model = [plan.model_path] if plan.model_path.startswith("/") else []
    return " ".join(word(path) for path in (*model, str(layout.state), str(layout.cache)))


def _script(layout: Layout, name: str) -> str:
    return inside(str(layout.generations), f"{FOLDER}/{name}")
