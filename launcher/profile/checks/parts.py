"""Whether the parts of a profile belong together: engine, model, roles, router, times."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.profile.findings import DELETE, Finding
from launcher.profile.lines import Lines
from launcher.profile.model import Profile
from launcher.profile.serving import ROLES

_BRINGS_A_MODEL = {"cpu", "simulator"}
_PER_SERVER = ("gpus", "port", "bootstrap_port", "nccl_port")


def check_parts(profile: Profile, lines: Lines) -> Iterator[Finding]:
    """Find parts that are missing, too many, or in the wrong place."""
    yield from _engine(profile, lines)
    yield from _roles(lines)
    for role in ROLES:
        yield from _role(role, profile, lines)
    yield from _times(profile)


def _engine(profile: Profile, lines: Lines) -> Iterator[Finding]:
    kind = profile.engine.kind
    if kind == "sglang" and not lines.has("engine", "venv"):
        error = "the serving environment is not named: where is the Python that has SGLang?"
        yield Finding(("engine", "venv"), error, "engine: {venv: /opt/sglang/venv}")
    if kind == "simulator" and lines.has("engine", "venv"):
        yield Finding(("engine", "venv"), "has no effect: pdlaunch's own Python runs the simulator", DELETE)
    if kind not in _BRINGS_A_MODEL and not lines.has("model"):
        yield Finding(("model",), "the weights are not named", "model: /models/NAME")


def _roles(lines: Lines) -> Iterator[Finding]:
    prefill, decode, aggregated = (lines.has(role) for role in ROLES)
    if aggregated and (prefill or decode):
        yield Finding(("aggregated",), "stands beside prefill or decode; a deployment is split, or it is not")
    elif prefill != decode:
        there, absent = ("prefill", "decode") if prefill else ("decode", "prefill")
        yield Finding((absent,), f"{there} stands alone; it needs {absent}", f"{absent}: {{gpus: ...}}")
    elif not (prefill or aggregated):
        yield Finding(
            ("prefill",), "no servers: prefill and decode, or aggregated", "prefill: {gpus: 0-3}\ndecode: {gpus: 4-7}"
        )
    if (prefill or decode) and not lines.has("router"):
        yield Finding(("router",), "prefill and decode need a router in front of them", "router: {port: 8000}")


def _role(name: str, profile: Profile, lines: Lines) -> Iterator[Finding]:
    role = getattr(profile, name)
    places = [(name, "replicas", i) for i in range(len(role.replicas))] if role else []
    if role and lines.has(name, "replicas"):
        if not role.replicas:
            yield Finding(
                (name, "replicas"),
                "an empty list; without `replicas` a role has one server",
                DELETE,
            )
        for key in _PER_SERVER:
            if role.replicas and lines.has(name, key):
                yield Finding((name, key), f"{name} has replicas: `{key}` stands under each of them")
    for place in [(name,), *places]:
        if name != "prefill" and lines.has(*place, "bootstrap_port"):
            yield Finding((*place, "bootstrap_port"), "only a prefill has a bootstrap server", DELETE)


def _times(profile: Profile) -> Iterator[Finding]:
    if profile.stop.kill < profile.stop.drain:
        error = f"the tree goes after {profile.stop.kill:g} s, before draining may end after {profile.stop.drain:g} s"
        yield Finding(("stop", "kill"), error, f"kill: {profile.stop.drain + 30:g}s")
    for section in ("ready", "restart"):
        if getattr(profile, section).within <= 0:
            yield Finding((section, "within"), "no time at all", "within: 30m")
