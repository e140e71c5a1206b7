"""From a plan to its lock, and from a lock to its plan."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path

from launcher import __version__
from launcher.frozen import Frozen
from launcher.lock import digests, text
from launcher.lock.model import (
    About,
    Intent,
    Lock,
    LockedEngine,
    LockedModel,
    LockedRouter,
    LockedService,
    Packages,
    Readiness,
    Source,
    Transfer,
)
from launcher.lock.origins import origins_of
from launcher.plan.model import DIGEST, EngineUse, Origin, Plan, Service
from launcher.profile.model import Profile, Ready
from launcher.render import Layout, render

_NOWHERE = Layout(deployment="any", state=Path("/state"), cache=Path("/cache"), run=Path("/run"))
"""Stands for the folders of a machine, so that two machines render the same."""


class Read(Frozen):
    """What was read of the engine beside its plan."""

    package: str | None = None
    head: str | None = None
    edited: Mapping[str, str | None] | None = None
    packages: Mapping[str, str] = {}
    nixl: str | None = None
    ucx: str | None = None
    router: str | None = None
    """Version of the router, where the deployment has one."""


def intent_of(plan: Plan, profile: Profile | None, read: Read) -> Intent:
    """What `plan` starts; pure. Raises InputError for a value that no process can receive."""
    services = {service.name: _locked(service) for service in plan.services}
    return Intent(
        deployment=plan.deployment,
        profile=digests.of(profile.model_dump(mode="json")) if profile else None,
        services=services,
        engine=LockedEngine(
            kind=plan.engine.kind,
            version=plan.engine.version,
            source=Source(
                path=plan.engine.source,
                package=read.package,
                tree=plan.engine.snapshot,
                head=read.head,
                edited=dict(sorted(read.edited.items())) if read.edited is not None else None,
            ),
            packages=Packages(versions=dict(sorted(read.packages.items()))),
        ),
        model=LockedModel(
            path=plan.model_path, name=plan.model_name, revision=profile.model.revision if profile else None
        ),
        transfer=Transfer(kind=plan.transfer, nixl=read.nixl, ucx=read.ucx),
        router=LockedRouter(kind="sglang-router", version=read.router) if read.router else None,
        bundle=bundle_digests(plan),
        backend=plan.backend,
        ready=Readiness(**plan.ready.model_dump(), chunk=plan.chunk, context=plan.context),
        stop=plan.stop,
        restart=plan.restart,
        watch=plan.watch,
        allowed=plan.allowed,
    )


def _locked(service: Service) -> LockedService:
    return LockedService(
        role=service.role,
        user=service.user,
        host=service.host,
        gpus=service.gpus,
        ports=service.ports,
        reserved=service.reserved,
        argv=tuple(argument.words for argument in service.argv),
        env={v.name: text.written(v.value, v.root) for v in service.env if v.name != DIGEST},
        secrets={secret.name: secret.file for secret in service.secrets},
    )


def bundle_digests(plan: Plan) -> dict[str, str]:
    """SHA-256 of the plan's files as they would be anywhere: a line moved in the profile, or two keys, change none."""
    bare = tuple(_without_origins(service) for service in plan.services)
    return render(plan.model_copy(update={"services": bare}), _NOWHERE).digests()


def _without_origins(service: Service) -> Service:
    none = {"origin": Origin(kind="pdlaunch")}
    program, *flags = service.argv
    return service.sealed().model_copy(
        update={
            "argv": tuple(a.model_copy(update=none) for a in (program, *sorted(flags, key=lambda a: a.words))),
            "env": tuple(v.model_copy(update=none) for v in sorted(service.sealed().env, key=lambda v: v.name)),
            "secrets": tuple(s.model_copy(update=none) for s in sorted(service.secrets, key=lambda s: s.name)),
        }
    )


def plan_of(lock: Lock) -> Plan:
    """The plan that the lock was made of, its services sealed."""
    intent = lock.intent
    ready = intent.ready
    return Plan(
        deployment=intent.deployment,
        model_path=intent.model.path,
        model_name=intent.model.name,
        engine=EngineUse(
            kind=intent.engine.kind,
            version=intent.engine.version,
            source=intent.engine.source.path,
            snapshot=intent.engine.source.tree,
        ),
        transfer=intent.transfer.kind,
        services=tuple(s.service(name, lock.about.origins[name]) for name, s in intent.services.items()),
        chunk=ready.chunk,
        context=ready.context,
        ready=Ready.model_validate(ready.model_dump(exclude={"chunk", "context"})),
        stop=intent.stop,
        restart=intent.restart,
        watch=intent.watch,
        allowed=intent.allowed,
        backend=intent.backend,
        notes=lock.about.notes,
    )


def lock_of(
    intent: Intent,
    plan: Plan,
    *,
    by: str,
    written: dt.datetime,
    why: str | None = None,
    generation: int | None = None,
    source: str | None = None,
) -> Lock:
    """The lock of `plan`: its intent, and where its values came from."""
    origins = {service.name: origins_of(service) for service in plan.services}
    about = About(
        generation=generation,
        written=written,
        by=by,
        why=why,
        source=source,
        pdlaunch=__version__,
        notes=plan.notes,
        origins=origins,
    )
    return Lock(intent=intent, about=about)
