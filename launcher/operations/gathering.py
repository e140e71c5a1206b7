"""Gathering what the doctor judges: everything that asks the machine, side by side where it takes time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from launcher.backends.processes import SUPERVISOR, look
from launcher.doctor import Facts, Ports
from launcher.errors import InputError
from launcher.observe.cards import Cards, cards
from launcher.observe.folders import Folder, folder
from launcher.observe.holders import Holder, holders
from launcher.observe.limits import limits, shared_memory
from launcher.observe.pci import paths
from launcher.observe.running import running
from launcher.observe.sockets import listeners
from launcher.observe.weights import weights
from launcher.observe.xids import xids
from launcher.operations.programs import software, toolkit, tools, try_engine, try_router
from launcher.operations.transferring import measure
from launcher.plan import Plan, Service
from launcher.render import Layout
from launcher.store import Store

_KERNELS = ("SGLANG_JIT_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE", "TRITON_CACHE_DIR")
_CONTAINER = ("/.dockerenv", "/run/.containerenv")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Depth:
    """How much is asked."""

    deep: bool = False
    """The engine's import as well, which takes up to a minute."""
    sources: Path | None = None
    """The folder that holds the engine's package where the profile names a checkout."""
    floor: float | None = None
    """Bytes a second that the profile asks of a transfer."""


def gather(plan: Plan | None, store: Store | None, layout: Layout | None, depth: Depth) -> Facts:
    """Everything that the doctor looks at; with a plan, `layout` is its deployment's."""
    facts = before_up(plan, store, layout)
    daemon, first = _daemon(layout), _first(plan)
    with _pool() as pool:
        kernel_log = pool.submit(xids) if _uses_cards(plan) else None
        taken = pool.submit(_ports, plan) if plan else None
        moved = pool.submit(measure, plan, layout, facts.software, facts.cards) if plan and layout else None
        routed = pool.submit(try_router, plan, layout) if plan and layout else None
        ways = paths(c.pci for c in facts.cards.cards if c.pci) if isinstance(facts.cards, Cards) else None
        transferred = _result(moved)
        return replace(
            facts,
            ours=_ours(layout),
            floor=depth.floor,
            xids=_result(kernel_log),
            paths=ways,
            ports=_result(taken),
            transferred=None if isinstance(transferred, str) else transferred,
            no_transfer=transferred if isinstance(transferred, str) else None,
            router=_result(routed),
            imported=try_engine(first, layout, depth.sources) if first and layout and depth.deep else None,
            shell=limits(),
            daemon=limits(daemon) if daemon else None,
            shared=shared_memory(),
        )


def before_up(plan: Plan | None, store: Store | None, layout: Layout | None) -> Facts:
    """What `up` looks at: quick, and the cards only of a plan that uses some."""
    cpu_only = not _uses_cards(plan)
    found = None if cpu_only else cards()
    on_cards = [p.pid for card in found.cards for p in card.processes] if isinstance(found, Cards) else []
    first = _first(plan)
    return Facts(
        plan=plan,
        ours=frozenset() if cpu_only else _ours(layout),
        root=os.geteuid() == 0,
        nodes=len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or 1,
        containers=any(Path(mark).exists() for mark in _CONTAINER) or "KUBERNETES_SERVICE_HOST" in os.environ,
        cards=found,
        holders=holders(on_cards) if on_cards else {},
        recorded=_recorded(store),
        software=software(first) if first else None,
        tools=tools(first) if first and not cpu_only else None,
        toolkit=toolkit(first) if first and not cpu_only else None,
        kernels=bool(first and layout and _kernels(first, layout)),
        folders=_folders(layout, plan),
        weights=weights(plan.model_path) if plan and plan.engine.kind != "simulator" else None,
    )


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    """Threads that wait for processes, and end with the block whatever happens in it."""
    pool = ThreadPoolExecutor(max_workers=6)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _result(future: Future[_T] | None) -> _T | None:
    return future.result() if future else None


def _uses_cards(plan: Plan | None) -> bool:
    return plan is None or plan.engine.kind == "sglang"


def _first(plan: Plan | None) -> Service | None:
    """The server whose environment stands for the engine's."""
    if plan is None or plan.engine.kind == "simulator":
        return None
    return next((service for service in plan.services if service.role != "router"), None)


def _ours(layout: Layout | None) -> frozenset[int]:
    if layout is None:
        return frozenset()
    return frozenset(proc.pid for found in running(layout.state).values() for proc in found.processes)


def _daemon(layout: Layout | None) -> int | None:
    """The supervisor of our own that runs the deployment."""
    daemons = look(layout.state).services.get(SUPERVISOR, ()) if layout else ()
    return daemons[0].pid if daemons else None


def _recorded(store: Store | None) -> Mapping[int, str] | None:
    """The cards of the current generation's last start; none of a receipt that is damaged."""
    if store is None or (number := store.current()) is None:
        return None
    from launcher.operations.receipts import read_receipt  # brings what a check needs, too

    with suppress(InputError):
        receipt = read_receipt(store, number)
        return {gpu.index: gpu.uuid for gpu in receipt.machine.gpus if gpu.uuid} if receipt else None
    return None


def _kernels(server: Service, layout: Layout) -> bool:
    """Whether an earlier start left compiled kernels."""
    places = (Path(layout.value(variable)) for variable in server.env if variable.name in _KERNELS)
    return any(place.is_dir() and any(place.iterdir()) for place in places)


def _folders(layout: Layout | None, plan: Plan | None) -> Mapping[str, Folder]:
    wanted = {"state": layout.state, "cache": layout.cache} if layout else {}
    if plan and plan.engine.kind != "simulator":
        wanted["temporary"] = Path("/tmp")  # noqa: S108  SGLang 0.5.23 names it itself, srt/utils/numa_utils.py:88
    return {purpose: found for purpose, path in wanted.items() if (found := folder(path))}


def _ports(plan: Plan) -> Ports:
    from launcher.observe.machine import ephemeral_range

    wanted = {port for service in plan.services for port in (*service.ports.values(), *service.reserved)}
    held = listeners(wanted)
    owners: Mapping[int, Holder] = holders(listener.pid for listener in held.values() if listener.pid)
    return Ports(held, ephemeral_range(), _kept(), owners)


def _kept() -> frozenset[int]:
    """``8000,31000-31020`` of net.ipv4.ip_local_reserved_ports as numbers."""
    with suppress(OSError, ValueError):
        text = Path("/proc/sys/net/ipv4/ip_local_reserved_ports").read_text()
        spans = (span.partition("-") for span in text.strip().split(",") if span)
        return frozenset(port for low, _, high in spans for port in range(int(low), int(high or low) + 1))
    return frozenset()
