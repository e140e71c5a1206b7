"""A service's environment: the declared base, what the launcher owns, then what the profile says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from launcher.plan.caches import VARIABLES, cache_key
from launcher.plan.facts import Environment, Facts
from launcher.plan.model import MARK, Origin, Root, Secret, Variable
from launcher.profile import EnvValue, Written

_BASE = Origin(kind="base")
_OWN = Origin(kind="pdlaunch")
SNAPSHOT_UNKNOWN = "unsealed"
"""Stands for the snapshot's digest where the engine is not on this machine, or no snapshot was taken yet."""


def base(
    service: str, environment: Environment | None, facts: Facts, user: tuple[str, Origin] | None
) -> list[Variable]:
    """What every service gets, a router included: nothing is inherited, so this is all there is.

    SPT_NOENV keeps /proc/PID/environ readable where setproctitle, which SGLang and the router call, would overwrite it.
    """
    machine = facts.machine
    bins = [environment.python.rpartition("/")[0]] if environment else []
    cuda = [f"{machine.cuda}/bin"] if machine.cuda else []
    name, origin = user or (machine.user, _BASE)
    return [
        Variable(name="HOME", value=machine.home, origin=_BASE),
        Variable(name="USER", value=name, origin=origin),
        Variable(name="LANG", value="C.UTF-8", origin=_BASE),
        Variable(name="PATH", value=":".join([*bins, *cuda, "/usr/local/bin", "/usr/bin", "/bin"]), origin=_BASE),
        Variable(name="TMPDIR", value="/tmp", origin=_BASE),  # noqa: S108  the host's own; SGLang's numactl wrapper runs from it
        Variable(name="PYTHONNOUSERSITE", value="1", origin=_BASE),
        Variable(name="PYTHONSAFEPATH", value="1", origin=_BASE),
        Variable(name="PYTHONUNBUFFERED", value="1", origin=_BASE),
        Variable(name="CUDA_DEVICE_ORDER", value="PCI_BUS_ID", origin=_BASE),
        Variable(name="SPT_NOENV", value="1", origin=_BASE),
        Variable(name=MARK, value=service, root="state", origin=_OWN),
    ]


def for_engine(facts: Facts, source: Origin | None, host: str) -> list[Variable]:
    """What every engine process gets beside the base.

    SGLANG_HOST_IP keeps a worker's ephemeral listeners (zmq, UCX, gloo) on that address.
    """
    key = cache_key(facts.engine, facts.machine)
    note = "engine.source, as it was at `up`" if source else "the engine, as it was at `up`"
    snapshot = (source or _OWN).model_copy(update={"note": note})
    path = f"engine/{facts.snapshot or SNAPSHOT_UNKNOWN}"
    return [
        Variable(name="PYTHONPATH", value=path, root="state", origin=snapshot),
        *_cache(key),
        Variable(name="SGLANG_EXPOSE_OWN_ENV_VARS", value="1", origin=_OWN),
        Variable(name="SGLANG_HOST_IP", value=host, origin=_OWN),
    ]


def _cache(key: str) -> Iterator[Variable]:
    root: Root = "cache"
    for name, folder in VARIABLES.items():
        yield Variable(name=name, value=f"{key}/{folder}", root=root, origin=_BASE)


def written(env: Mapping[str, Written[EnvValue]], file: str) -> list[Variable]:
    """What the profile says, each value in the spelling that its reader parses."""
    return [
        Variable(name=name, value=spell(w.value), origin=Origin(kind="profile", file=file, line=w.line))
        for name, w in env.items()
        if w.value is not None
    ]


def spell(value: bool | str) -> str:
    """A bool as ``1`` or ``0``: what SGLang's EnvBool, NCCL, UCX and ``int(os.environ[…])`` all parse."""
    return ("1" if value else "0") if isinstance(value, bool) else value


def layered(*layers: list[Variable], without: frozenset[str]) -> tuple[Variable, ...]:
    """The layers in order, a later one replacing a name in place, less what the profile takes away."""
    result: dict[str, Variable] = {}
    for layer in layers:
        result.update({variable.name: variable for variable in layer})
    return tuple(variable for name, variable in result.items() if name not in without)


def taken_away(env: Mapping[str, Written[EnvValue]]) -> frozenset[str]:
    """The names that the profile sets to ``~``."""
    return frozenset(name for name, w in env.items() if w.value is None)


def secrets(written_secrets: Mapping[str, Written[str | None]], file: str) -> tuple[Secret, ...]:
    """The secrets of a service: a name and the file that holds the value."""
    return tuple(
        Secret(name=name, file=w.value, origin=Origin(kind="profile", file=file, line=w.line))
        for name, w in written_secrets.items()
        if w.value is not None
    )
