"""A box in full health with a deployment that fits it, to take things from."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import replace

from launcher.doctor import Facts, Ports, Ran, Software
from launcher.observe.card import Card, CardProcess, Cards, Link, Pair
from launcher.observe.folders import Folder
from launcher.observe.holders import Holder
from launcher.observe.limits import UNLIMITED, Limits
from launcher.observe.pci import Paths
from launcher.observe.transfer import Transferred
from launcher.observe.weights import Weights
from launcher.plan.model import Argument, EngineUse, Origin, Plan, RoleName, Service, Variable
from launcher.profile.model import Ready, Restart, Stop, Waiver

GIB = 1 << 30
WRITTEN = Origin(kind="profile", file="box.yaml", line=3)
MODEL = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
EIGHT = range(8)


def a_card(index: int) -> Card:
    return Card(
        index=index,
        uuid=f"GPU-{index}",
        name=MODEL,
        pci=f"0000:{16 + index:02x}:00.0",
        numa=index // 4,
        capability=(12, 0),
        memory=96 * GIB,
        used=GIB // 2,
        free=96 * GIB - GIB // 2,
        processes=(),
        power_limit=600.0,
        power_default=600.0,
        slowed=(),
        uncorrected=0,
        rows_pending=False,
        rows_failed=False,
        link=Link(16, 16, 1, 5, 5),
        mig=False,
        compute_mode="default",
        persistence=True,
    )


CARDS = Cards(
    driver="595.71.05",
    cuda="13.0",
    cards=tuple(map(a_card, EIGHT)),
    lost={},
    pairs=tuple(Pair(a, b, "ok", "ok", False, "host bridge") for a in EIGHT for b in EIGHT if a != b),
    missing=(),
)


def a_service(name: str, gpus: tuple[int, ...] = (), port: int = 31000, **env: str) -> Service:
    role: RoleName = "router" if name == "router" else "prefill" if name.startswith("prefill") else "decode"
    program = Argument(words=("/opt/sglang/venv/bin/python", "-m", "sglang.launch_server"), origin=WRITTEN)
    return Service(
        name=name,
        role=role,
        argv=(program,),
        env=tuple(Variable(name=n, value=v, origin=WRITTEN) for n, v in env.items()),
        gpus=gpus,
        host="127.0.0.1",
        ports={"http": port},
    )


PREFILL, DECODE = a_service("prefill-0", (0, 1, 2, 3)), a_service("decode-0", (4, 5, 6, 7), 31010)
ROUTER = a_service("router", port=8000)
PLAN = Plan(
    deployment="box",
    model_path="/models/m",
    model_name="m",
    engine=EngineUse(kind="sglang", version="0.5.23"),
    transfer="nixl",
    services=(PREFILL, DECODE, ROUTER),
    chunk=4096,
    context=None,
    ready=Ready(),
    stop=Stop(),
    restart=Restart(),
    backend="supervisord",
)
FACTS = Facts(
    plan=PLAN,
    root=True,
    nodes=2,
    cards=CARDS,
    recorded={index: f"GPU-{index}" for index in EIGHT},
    xids=(),
    paths=Paths(bridges={"0000:10:00.0": ("0000:00:01.0",)}, redirecting=(), unread=(), iommu={}),
    software=Software("/opt/sglang/venv", "2.13.0", "13.0", {"nixl": "1.5.1", "nixl-cu13": "1.5.1"}),
    toolkit="13.0",
    tools=dict.fromkeys(("nvcc", "ninja", "gcc", "g++", "numactl", "nvidia-smi"), "/usr/bin/x"),
    folders={name: Folder(f"/{name}", 500 * GIB, False, False) for name in ("state", "cache", "temporary")},
    shell=Limits((8 << 20, UNLIMITED), (1024, 1 << 20), privileged=False),
    shared=64 * GIB,
    ports=Ports({}, (32768, 60999), frozenset(), {}),
    transferred=Transferred("prefill-0", "decode-0", "VRAM", 32 << 20, (0.01, 0.001), "cuda_ipc/cuda", "zero-copy"),
    imported=Ran("python -c 'import sglang'", True, "sglang 0.5.23", 9.0),
    router=Ran("python -c 'import sglang_router'", True, "sglang-router 0.3.2", 0.1),
    weights=Weights("/models/m", True, 46, 150 * GIB, (), (), ()),
)


def with_card(index: int, **changes: object) -> Facts:
    """The box, one card of which is otherwise."""
    cards = tuple(replace(c, **changes) if c.index == index else c for c in CARDS.cards)  # type: ignore[arg-type]
    return replace(FACTS, cards=replace(CARDS, cards=cards))


def held(index: int, pid: int = 4242, memory: int | None = 30 * GIB, **holder: str | None) -> Facts:
    """The box, one card of which somebody holds."""
    free = 96 * GIB - (memory or 0)
    facts = with_card(index, processes=(CardProcess(pid, memory),), used=memory or GIB, free=free)
    return replace(facts, holders=who(pid, **holder)) if holder else facts


def who(pid: int, deployment: str | None = None, service: str | None = None) -> Mapping[int, Holder]:
    since = dt.datetime(2026, 12, 1, 11, 2, tzinfo=dt.UTC)
    return {pid: Holder(pid, "anna", since, "python -m vllm serve", deployment, service)}


def with_plan(**changes: object) -> Facts:
    """The box, the plan of which is otherwise."""
    return replace(FACTS, plan=PLAN.model_copy(update=changes))


def waived(code: str, until: dt.date) -> Facts:
    waiver = Waiver(what=code, why="a bench box", by="anna", until=until)
    return with_plan(allowed=(waiver,))
