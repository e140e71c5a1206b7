"""The exact command of each service: what the launcher owns first, then the profile's flags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from launcher.plan.gpus import Selection
from launcher.plan.model import Argument, Origin
from launcher.profile import ArgValue, Written

_OWN = Origin(kind="pdlaunch")


@dataclass(frozen=True, slots=True)
class Owned:
    """What the launcher decides for one server, with the lines that it follows from."""

    mode: str | None
    """``prefill``, ``decode``, or None for a server that does both."""
    transfer: tuple[str, Origin]
    model: tuple[str, Origin]
    name: tuple[str, Origin]
    revision: tuple[str, Origin] | None
    host: tuple[str, Origin]
    ports: Mapping[str, tuple[int, Origin]]
    bootstrap: int | None
    """The prefill's bootstrap port: its own for a prefill, the first prefill's for a decode."""
    parallel: Mapping[str, tuple[int, Origin]]
    """``tp-size``, ``dp-size``, ``ep-size``."""
    selection: tuple[Selection, Origin] | None


def engine_program(kind: str, python: str, origin: Origin) -> Argument:
    """The program of an engine server."""
    module = "launcher.simulator" if kind == "simulator" else "sglang.launch_server"
    return Argument(words=(python, "-m", module), origin=origin)


def owned_flags(o: Owned) -> list[Argument]:
    """The flags that a profile expresses by keys of its own."""
    flags = [
        _flag("model-path", *o.model),
        *([_flag("revision", *o.revision)] if o.revision else []),
        _flag("served-model-name", *o.name),
        _flag("host", *o.host),
        _flag("port", *_text(o.ports["http"])),
        _flag("nccl-port", *_text(o.ports["nccl"])),
        *(_flag(name, *_text(size)) for name, size in o.parallel.items()),
    ]
    if o.selection:
        chosen, origin = o.selection
        flags.append(_flag("base-gpu-id", str(chosen.base), origin))
    if o.mode:
        flags += [
            _flag("disaggregation-mode", o.mode, _OWN),
            _flag("disaggregation-transfer-backend", *o.transfer),
            _flag("disaggregation-bootstrap-port", str(o.bootstrap), o.ports.get("bootstrap", (0, _OWN))[1]),
        ]
    return [*flags, Argument(words=("--enable-metrics",), origin=_OWN)]


def profile_flags(
    args: Mapping[str, Written[ArgValue]], file: str, negatable: frozenset[str] = frozenset()
) -> list[Argument]:
    """The profile's flags in its order.

    ``true`` sets a switch; ``false`` writes ``--no-x`` for a flag in `negatable` and leaves others out; a list becomes
    several words; text stays as it stands.
    """
    flags = []
    for name, w in args.items():
        words = _words(name, w.value, negatable)
        if words:
            flags.append(Argument(words=words, origin=Origin(kind="profile", file=file, line=w.line)))
    return flags


def _words(name: str, value: ArgValue, negatable: frozenset[str]) -> tuple[str, ...]:
    if value is None:
        return ()
    if value is True:
        return (f"--{name}",)
    if value is False:
        return (f"--no-{name}",) if name in negatable else ()
    values = value if isinstance(value, tuple) else (value,)
    # argparse takes a word that begins with a dash for a flag unless it is joined to its own
    if len(values) == 1 and values[0].startswith("-"):
        return (f"--{name}={values[0]}",)
    return (f"--{name}", *values)


@dataclass(frozen=True, slots=True)
class Worker:
    """A server as the router is told of it."""

    url: str
    role: str
    bootstrap: int | None


def router_flags(
    host: tuple[str, Origin], port: tuple[int, Origin], metrics: tuple[int, Origin], workers: Iterable[Worker]
) -> list[Argument]:
    """The router's own command line knows its workers; its metrics listen on the router's host only."""
    flags = [_flag("host", *host), _flag("port", *_text(port))]
    members = list(workers)
    if any(w.role == "prefill" for w in members):
        flags.append(Argument(words=("--pd-disaggregation",), origin=_OWN))
        flags += [
            Argument(words=("--prefill", w.url, str(w.bootstrap)), origin=_OWN) for w in members if w.role == "prefill"
        ]
        flags += [Argument(words=("--decode", w.url), origin=_OWN) for w in members if w.role == "decode"]
    else:
        flags.append(Argument(words=("--worker-urls", *(w.url for w in members)), origin=_OWN))
    # The router binds its metrics to all interfaces unless told otherwise.
    return [*flags, _flag("prometheus-host", *host), _flag("prometheus-port", *_text(metrics))]


def _flag(name: str, value: str, origin: Origin) -> Argument:
    return Argument(words=(f"--{name}", value), origin=origin)


def _text(value: tuple[int, Origin]) -> tuple[str, Origin]:
    return str(value[0]), value[1]
