"""One engine server of the plan."""

from __future__ import annotations

from launcher.engines import CPU_ENGINE_ARGS, CPU_ENGINE_ENV
from launcher.plan import commands, environment
from launcher.plan.commands import Owned
from launcher.plan.context import OWN, Context
from launcher.plan.gpus import Selection, select
from launcher.plan.model import Argument, Origin, Service, Variable
from launcher.plan.slots import Slot

_KEYS = {"http": "port", "nccl": "nccl_port", "bootstrap": "bootstrap_port"}


def server(context: Context, slot: Slot) -> Service:
    """The service of one slot: exact command, exact environment."""
    selection = select(slot.gpus()[0], context.gpu_count())
    source = context.origin("engine", "source") if context.profile.engine.source else None
    host = context.profile.engine.host
    assigned = context.ports[slot.name]
    return Service(
        name=slot.name,
        role=slot.role,
        argv=(
            commands.engine_program(context.profile.engine.kind, python(context), _program_origin(context)),
            *commands.owned_flags(_owned(context, slot, selection)),
            *_kind_args(context, slot),
            *commands.profile_flags(slot.settings.args, context.file, context.facts.negatable),
        ),
        env=environment.layered(
            environment.base(slot.name, context.facts.engine, context.facts, context.user()),
            environment.for_engine(context.facts, source, host),
            _kind_env(context),
            _visible(slot, selection),
            environment.written(slot.settings.env, context.file),
            without=environment.taken_away(slot.settings.env),
        ),
        secrets=environment.secrets(slot.settings.secrets, context.file),
        gpus=slot.gpus()[0],
        host=host,
        ports=assigned.ports,
        user=context.profile.engine.user,
        reserved=assigned.reserved,
    )


def python(context: Context) -> str:
    """The interpreter that runs the servers, by the profile's word where the environment is not here."""
    if context.profile.engine.kind == "simulator":
        return context.facts.machine.python
    if context.facts.engine:
        return context.facts.engine.python
    return f"{context.profile.engine.venv or 'VENV'}/bin/python"


def note(slot: Slot, context: Context) -> str | None:
    """What a reader of the plan should know of this server's cards."""
    selection = select(slot.gpus()[0], context.gpu_count())
    return f"{slot.name}: {selection.note}" if selection and selection.note else None


def _owned(context: Context, slot: Slot, selection: Selection | None) -> Owned:
    ports = context.ports[slot.name].ports
    bootstraps = [p["bootstrap"] for s in context.slots if "bootstrap" in (p := context.ports[s.name].ports)]
    mode = None if slot.role == "aggregated" else slot.role
    revision = context.profile.model.revision
    return Owned(
        mode=mode,
        transfer=(context.profile.transfer, context.origin("transfer")),
        model=context.model_path(),
        name=(context.profile.model.name, context.origin("model", "name")),
        revision=(revision, context.origin("model", "revision")) if revision else None,
        host=(context.profile.engine.host, context.origin("engine", "host")),
        ports={purpose: (port, _port_origin(slot, purpose)) for purpose, port in ports.items()},
        # On a decode the flag only names the prefill's port; each request brings its own.
        bootstrap=ports.get("bootstrap", bootstraps[0] if bootstraps else None),
        parallel=slot.size(),
        selection=(selection, slot.gpus()[1]) if selection else None,
    )


def _port_origin(slot: Slot, purpose: str) -> Origin:
    value, origin = slot.key(_KEYS[purpose])
    return origin if value else OWN


def _program_origin(context: Context) -> Origin:
    return context.origin("engine", "venv") if context.says("engine", "venv") else context.origin("engine")


def _visible(slot: Slot, selection: Selection | None) -> list[Variable]:
    if not selection or not selection.visible:
        return []
    return [Variable(name="CUDA_VISIBLE_DEVICES", value=selection.visible, origin=slot.gpus()[1])]


def _kind_args(context: Context, slot: Slot) -> list[Argument]:
    if context.profile.engine.kind != "cpu":
        return []
    return [
        Argument(words=(f"--{flag}", *([value] if value else [])), origin=Origin(kind="engine", note=why))
        for flag, (value, why) in CPU_ENGINE_ARGS.items()
        if flag not in slot.settings.args
    ]


def _kind_env(context: Context) -> list[Variable]:
    if context.profile.engine.kind != "cpu":
        return []
    return [
        Variable(name=name, value=value, origin=Origin(kind="engine", note=why))
        for name, (value, why) in CPU_ENGINE_ENV.items()
    ]
