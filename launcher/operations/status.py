"""`status`: what runs, read from the processes and the servers, and what was being done to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Literal, TypeAlias

from launcher.backends.protocol import Unit
from launcher.frozen import Frozen
from launcher.observe.http import Endpoint
from launcher.observe.loads import Load, load
from launcher.observe.running import Running, running
from launcher.operations.boot_remarks import about_boot
from launcher.operations.confirming import waiting_for
from launcher.operations.drifting import drift
from launcher.operations.driving import backend_of
from launcher.operations.evidence import good_of, summary
from launcher.operations.handover import waiting
from launcher.operations.log_sources import log_of
from launcher.operations.proven_before import probed
from launcher.operations.standing import Standing, standing
from launcher.operations.watch_says import WatchSays, watch_says
from launcher.plan import Service
from launcher.store import Event, Store, writing
from launcher.store.names import names_of
from launcher.store.served import Served, served

State: TypeAlias = Literal["ok", "changing", "interrupted", "degraded", "failed", "stopped", "empty", "hung"]
ServiceState: TypeAlias = Literal["ok", "loading", "stopped", "failed", "unsupervised", "outdated", "silent", "hung"]
SCHEMA = 1


class ServiceStatus(Frozen):
    """One service as it is."""

    name: str
    role: str
    state: ServiceState
    pid: int | None
    since: float | None
    """Start of the main process, seconds since the epoch."""
    gpus: tuple[int, ...]
    host: str
    ports: Mapping[str, int]
    running: int | None
    """Requests; None where the server does not say."""
    queued: int | None
    restarts: int
    last_token: float | None = None
    """When it last gave one, or computed a part of a prompt: seconds since the epoch; None where nobody watches."""
    log: str


class RouterStatus(Frozen):
    """Where clients go."""

    url: str


class GoodStatus(Frozen):
    """The generation that `good` means."""

    generation: int
    names: tuple[str, ...]
    words: str
    """What it served."""
    by_traffic: bool
    """False where nobody watched, so that only its time speaks for it."""


class Status(Frozen):
    """A deployment as it is."""

    schema_version: int = SCHEMA
    deployment: str
    state: State
    generation: int | None
    """The current one: what runs, or what ran last."""
    since: str | None
    """When it became current, ISO 8601."""
    by: str | None
    why: str | None
    router: RouterStatus | None
    services: tuple[ServiceStatus, ...]
    proven_tokens: int | None
    """Of the longest prompt of pdlaunch's own that was answered."""
    traffic_tokens: int | None
    """Of the longest context that a client completed, at least; None where nobody watched."""
    served: Served | None
    """What clients completed since this generation was first watched."""
    served_words: str | None
    good: GoodStatus | None
    context_tokens: int | None
    waived: tuple[str, ...]
    standing: Standing = Standing()
    """What of it nobody calls safe, who allows that, and what came since it was good."""
    names: tuple[str, ...]
    """Of the generation."""
    drift: tuple[str, ...]
    """What runs and was not recorded so, a line each, as far as the processes tell."""
    watch: WatchSays | None = None
    """What the watcher saw last; None where the profile wants none."""
    unconfirmed_until: str | None = None
    """When the former generation returns by itself, ISO 8601; None where nothing waits for `pdlaunch confirm`."""
    returns_to: int | None = None
    """The generation that then returns."""
    remark: str | None
    """What a reader should know: who is changing it, what was interrupted."""
    next: str | None
    """The command to type next."""


def status(store: Store) -> Status:
    """The status of a deployment; nothing is changed and nothing is waited for longer than two seconds."""
    name = store.layout.deployment
    number = _shown(store)
    if number is None:
        return _empty(store)
    plan = store.generation(number).plan
    now = running(store.layout.state)
    driver = backend_of(plan, store.layout)
    units = driver.units()
    supervised = bool(units) and driver.alive()
    others = waiting(store)
    with ThreadPoolExecutor(8) as pool:
        services = tuple(
            pool.map(
                lambda s: _service(
                    s,
                    now.get(s.name),
                    units.get(s.name),
                    log_of(plan, store.layout, s.name),
                    supervised,
                    s.name in others,
                ),
                plan.services,
            )
        )
    events = store.events()
    event = next((e for e in reversed(events) if e.what == "current" and e.generation == number), None)
    state, remark, hint = _judge(store, services, now, events)
    if others and state == "ok":
        remark, hint = _adopted(others, store)
    elif state == "ok":
        remark, hint = about_boot(plan, store)
    says = watch_says(store, plan, number)
    if says:
        services = tuple(_watched(s, says) for s in services)
    if says and says.hung and state in ("ok", "degraded"):
        state, remark, hint = "hung", None, _out_of_a_hang(store, number)
    waits = waiting_for(store)
    door = plan.service("router") or plan.services[0]
    row = served(store.layout).get(number)
    return Status(
        deployment=name,
        state=state,
        generation=number,
        since=event.at.isoformat(timespec="seconds") if event else None,
        by=event.by if event else None,
        why=event.why if event else None,
        router=RouterStatus(url=Endpoint(door.host, door.ports["http"]).url),
        services=services,
        proven_tokens=probed(events).get(number),
        traffic_tokens=row.longest or None if row else None,
        served=row,
        served_words=summary(row, 0.0) if row else None,
        good=_good(store),
        context_tokens=plan.context,
        waived=tuple(w.what for w in plan.allowed),
        standing=standing(store, store.generation(number)),
        names=names_of(store, number),
        drift=drift(store) if now and store.pending() is None else (),
        watch=says,
        unconfirmed_until=waits.until.isoformat(timespec="seconds") if waits else None,
        returns_to=waits.former if waits else None,
        remark=remark,
        next=hint,
    )


def _shown(store: Store) -> int | None:
    """The generation to speak of: the one that is being brought up, else the current, else the last."""
    pending = store.pending()
    if pending and pending.to_generation:
        return pending.to_generation
    numbers = store.numbers()
    return store.current() or (numbers[-1] if numbers else None)


def _empty(store: Store) -> Status:
    busy = writing(store.layout)
    return Status(
        deployment=store.layout.deployment,
        state="changing" if busy else "empty",
        generation=None,
        since=None,
        by=None,
        why=None,
        router=None,
        services=(),
        proven_tokens=None,
        traffic_tokens=None,
        served=None,
        served_words=None,
        good=None,
        context_tokens=None,
        waived=(),
        names=(),
        drift=(),
        remark=str(busy) if busy else "nothing was started yet",
        next=None if busy else "pdlaunch up PROFILE",
    )


def _service(
    service: Service, now: Running | None, unit: Unit | None, log: str, supervised: bool, as_adopted: bool
) -> ServiceStatus:
    state = _answering(service) if as_adopted else _service_state(service, now, unit, supervised)
    found = _load(service) if state == "ok" else None
    return ServiceStatus(
        name=service.name,
        role=service.role,
        state=state,
        pid=now.main.pid if now else None,
        since=now.main.created if now else None,
        gpus=service.gpus,
        host=service.host,
        ports=service.ports,
        running=found.running if found else None,
        queued=found.queued if found else None,
        restarts=unit.restarts if unit else 0,
        log=log,
    )


def _service_state(service: Service, now: Running | None, unit: Unit | None, supervised: bool) -> ServiceState:
    if now is None:
        return "failed" if unit and unit.state in ("exited", "failed", "backoff") else "stopped"
    if not supervised or unit is None or not unit.supervised or unit.pid not in {p.pid for p in now.processes}:
        return "unsupervised"
    if now.digest != service.digest():
        return "outdated"
    return _answering(service)


def _answering(service: Service) -> ServiceState:
    path = "/readiness" if service.role == "router" else "/ready"
    answer = Endpoint(service.host, service.ports["http"]).get(path, timeout=1.5)
    if answer.status == 404:
        answer = Endpoint(service.host, service.ports["http"]).get("/health", timeout=1.5)
    return "ok" if answer.ok else "loading" if answer.refused or answer.status == 503 else "silent"


def _load(service: Service) -> Load | None:
    return None if service.role == "router" else load(Endpoint(service.host, service.ports["http"]), timeout=1.5)


def _watched(service: ServiceStatus, says: WatchSays) -> ServiceStatus:
    hangs = service.name in says.hung_services and service.state in ("ok", "silent", "loading")
    state = "hung" if hangs else service.state
    return service.model_copy(update={"state": state, "last_token": says.progress.get(service.name)})


def _out_of_a_hang(store: Store, number: int) -> str:
    name = store.layout.deployment
    good = _good(store)
    if good and good.generation != number:
        return f"pdlaunch rollback --to {good.names[0] if good.names else good.generation} -d {name}"
    return f"pdlaunch restart --now -d {name}"


def _adopted(others: Collection[str], store: Store) -> tuple[str, str]:
    """What to say of services that still run as they were adopted."""
    names = ", ".join(sorted(others))
    remark = f"adopted; not handed over yet: {names} under the old launcher, which restarts them or does not"
    return remark, f"pdlaunch up PROFILE, or restart -d {store.layout.deployment}, hands over: both stop the old ones"


def _judge(
    store: Store, services: tuple[ServiceStatus, ...], now: Mapping[str, Running], events: tuple[Event, ...]
) -> tuple[State, str | None, str | None]:
    name = f" -d {store.layout.deployment}"
    if busy := writing(store.layout):
        return "changing", str(busy), None
    if pending := store.pending():
        verb = f"`{pending.operation}` by {pending.by} was interrupted at: {pending.step}"
        again = f"pdlaunch {pending.operation}" + (" PROFILE" if pending.operation == "up" else name)
        return "interrupted", f"{verb}; what is listed runs", _ways_on(again, f"pdlaunch down{name}")
    if all(s.state == "ok" for s in services):
        return "ok", None, None
    if not now:
        return _not_running(services, events, name)
    wrong = ", ".join(f"{s.name} {s.state}" for s in services if s.state != "ok")
    return "degraded", *_partly_running(services, wrong, events, name)


def _partly_running(
    services: tuple[ServiceStatus, ...], wrong: str, events: tuple[Event, ...], name: str
) -> tuple[str, str]:
    """What is to be said where some of it runs, and what to type."""
    if any(s.state == "unsupervised" for s in services):
        return f"{wrong}: nobody restarts or stops it", f"pdlaunch restart{name}"
    last = next((e for e in reversed(events) if e.what == "finished"), None)
    outcome = last.details.get("outcome") if last else None
    if last and outcome in ("failed", "interrupted") and not last.details.get("untouched"):
        done = f"`{last.details.get('operation')}` by {last.by} {outcome}, the rest was left running: {wrong}"
        return done, f"pdlaunch restart{name} {_named(services)}"
    return wrong, f"pdlaunch logs{name}, then pdlaunch restart{name}"


def _named(services: tuple[ServiceStatus, ...]) -> str:
    return " ".join(s.name for s in services if s.state != "ok")


def _ways_on(again: str, end: str) -> str:
    return f"{again} continues" if again == end else f"{again} continues; {end} ends everything"


def _not_running(
    services: tuple[ServiceStatus, ...], events: tuple[Event, ...], name: str
) -> tuple[State, str | None, str | None]:
    last = next((e for e in reversed(events) if e.what == "finished"), None)
    operation = str(last.details.get("operation")) if last else ""
    outcome = str(last.details.get("outcome")) if last else ""
    if operation == "down" and outcome == "done" and last:
        return "stopped", f"stopped by {last.by}" + (f": {last.why}" if last.why else ""), f"pdlaunch restart{name}"
    if last and outcome in ("failed", "interrupted"):
        return "failed", f"`{operation}` {outcome}" + (f": {last.why}" if last.why else ""), f"pdlaunch history{name}"
    if not any(e.what == "current" for e in events):
        return "stopped", "recorded, but never started", "pdlaunch up PROFILE"
    dead = ", ".join(s.name for s in services if s.state == "failed") or "everything"
    return "failed", f"{dead} ended by itself, or the machine was restarted", f"pdlaunch restart{name}"


def _good(store: Store) -> GoodStatus | None:
    found = good_of(store)
    if found is None:
        return None
    return GoodStatus(
        generation=found.generation,
        names=names_of(store, found.generation),
        words=found.words,
        by_traffic=found.by_traffic,
    )
