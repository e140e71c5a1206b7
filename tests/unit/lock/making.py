"""Small plans, profiles and locks to test with."""

from __future__ import annotations

import datetime as dt
from typing import Any

from launcher.lock import Intent, Lock, Read, intent_of, lock_of
from launcher.plan.model import Argument, EngineUse, Origin, Plan, Secret, Service, Variable
from launcher.profile.model import Engine, Model, Profile, Ready, Restart, Stop, Waiver, Watch

WRITTEN = dt.datetime(2026, 12, 1, 11, 46, 12, tzinfo=dt.UTC)
HERE = Origin(kind="profile", file="tiny.yaml", line=3, note="gpus")
OWN = Origin(kind="pdlaunch")
READ = Read(
    package="/opt/fork/python/sglang",
    head="9c1e77a0" * 5,
    edited={"sglang/srt/server.py": "ab" * 32, "sglang/gone.py": None},
    packages={"torch": "2.9.1", "nixl": "1.5.1"},
    nixl="1.5.1",
    ucx="cd" * 32,
    router="0.3.2",
)
PROFILE = Profile(name="tiny", model=Model(name="tiny", revision="main"), engine=Engine(kind="cpu"))


def a_service(name: str = "decode-0", **changed: Any) -> Service:
    values: dict[str, Any] = {
        "name": name,
        "role": name.partition("-")[0],
        "argv": (
            Argument(words=("/venv/bin/python", "-m", "sglang.launch_server"), origin=HERE),
            Argument(words=("--model-path", "/models/{tiny}"), origin=OWN),
            Argument(words=("--enable-metrics",), origin=Origin(kind="engine", note="why: it is so")),
        ),
        "env": (
            Variable(name="LANG", value="C.UTF-8", origin=Origin(kind="base")),
            Variable(name="PYTHONPATH", value="engine/41ab", root="state", origin=OWN),
            Variable(name="TEMPLATE", value="{state}/not ours", origin=HERE),
        ),
        "secrets": (Secret(name="HF_TOKEN", file="/etc/secrets/hf", origin=HERE),),
        "gpus": (4, 5),
        "host": "127.0.0.1",
        "ports": {"http": 31000, "nccl": 31002},
        "user": "sglang",
        "reserved": (31233,),
    }
    return Service.model_validate({**values, **changed}).sealed()


def a_plan(*services: Service, **changed: Any) -> Plan:
    values: dict[str, Any] = {
        "deployment": "tiny",
        "model_path": "/models/tiny",
        "model_name": "tiny",
        "engine": EngineUse(kind="cpu", version="0.5.23", source="/opt/fork", snapshot="41ab" * 8),
        "transfer": "nixl",
        "services": services or (a_service("prefill-0"), a_service("decode-0"), a_service("router")),
        "chunk": 8192,
        "context": None,
        "ready": Ready(),
        "stop": Stop(drain=0.5),
        "restart": Restart(),
        "watch": Watch(),
        "allowed": (Waiver(what="PD118", why='"bench"', by="anna", until=dt.date(2027, 1, 31)),),
        "backend": "supervisord",
        "notes": ("a list with holes",),
    }
    return Plan.model_validate({**values, **changed})


def an_intent(plan: Plan | None = None, profile: Profile | None = PROFILE, read: Read = READ) -> Intent:
    return intent_of(plan or a_plan(), profile, read)


def a_lock(plan: Plan | None = None, **about: Any) -> Lock:
    plan = plan or a_plan()
    return lock_of(an_intent(plan), plan, **{"by": "anna", "written": WRITTEN, "why": "a try", **about})
