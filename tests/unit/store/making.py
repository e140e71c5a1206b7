"""Small plans, bundles and stores to test with."""

from __future__ import annotations

from pathlib import Path

from launcher.plan.model import Argument, EngineUse, Origin, Plan, Service, Variable
from launcher.profile.model import Ready, Restart, Stop
from launcher.render.bundle import Bundle, RenderedFile
from launcher.render.layout import Layout
from launcher.store import Generation, Store

WRITTEN = Origin(kind="profile", file="tiny.yaml", line=3)
PROFILE = b"name: tiny  # caf\xc3\xa9\r\n"


def a_layout(folder: Path, deployment: str = "tiny") -> Layout:
    return Layout(
        deployment=deployment, state=folder / "state" / deployment, cache=folder / "cache", run=folder / "run"
    )


def a_service(name: str, *, chunk: int = 4096, origin: Origin = WRITTEN) -> Service:
    role = name.partition("-")[0]
    return Service.model_validate(
        {
            "name": name,
            "role": role,
            "argv": (
                Argument(words=("/venv/bin/python", "-m", "sglang.launch_server"), origin=origin),
                Argument(words=("--chunked-prefill-size", str(chunk)), origin=origin),
                Argument(words=("--tp-size", "1"), origin=origin),
            ),
            "env": (
                Variable(name="LANG", value="C.UTF-8", origin=Origin(kind="base")),
                Variable(name="NOTE", value="quotes ' \" $(x)\n%", origin=origin),
            ),
            "host": "127.0.0.1",
            "ports": {"http": 31000},
        }
    )


def a_plan(*services: Service, notes: tuple[str, ...] = (), drain: float = 60.0, source: str = "/opt/fork") -> Plan:
    return Plan(
        deployment="tiny",
        model_path="/models/tiny",
        model_name="tiny",
        engine=EngineUse(kind="cpu", version="0.5.23", source=source),
        transfer="nixl",
        services=services or (a_service("prefill-0"), a_service("decode-0"), a_service("router")),
        chunk=8192,
        context=None,
        ready=Ready(),
        stop=Stop(drain=drain),
        restart=Restart(),
        backend="supervisord",
        notes=notes,
    )


BUNDLE = Bundle(
    {
        "decode-0.sh": RenderedFile("#!/bin/bash\nexec true\n", 0o555),
        "units/tiny.service": RenderedFile("[Service]\nExecStart=/bin/true 100%%\n"),
    }
)


def a_store(folder: Path, generations: int = 0) -> Store:
    store = Store(a_layout(folder))
    for _ in range(generations):
        a_generation(store)
    return store


def a_generation(store: Store, *, chunk: int = 4096, snapshot: str | None = None, why: str = "a try") -> Generation:
    plan = a_plan(a_service("prefill-0", chunk=chunk), a_service("decode-0"), a_service("router"))
    return store.commit(PROFILE, plan, BUNDLE, snapshot_digest=snapshot, by="anna", why=why, source="tiny.yaml")
