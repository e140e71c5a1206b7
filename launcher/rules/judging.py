"""The rules against a deployment: from its profile, or from settings that somebody else resolved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from launcher.errors import Problem
from launcher.profile import Finding, KeyPath, Loaded, Merged, servers, settings_of
from launcher.rules import capacity, equal, timeouts, transfers
from launcher.rules.rule import Hit, Rule
from launcher.rules.view import ServiceView, View

RULES: tuple[Rule, ...] = (*equal.RULES, *timeouts.RULES, *transfers.RULES, *capacity.RULES)
"""Every rule; a new one is a file (or an entry of a family) and its place here."""


def judge(view: View, rules: Iterable[Rule] = RULES) -> Iterator[tuple[Rule, Hit]]:
    """What the rules object to in `view`. Pure."""
    for rule in rules:
        for hit in rule.check(view):
            yield rule, hit


def judge_profile(loaded: Loaded) -> list[Problem]:
    """What the rules object to in a profile, each once and with the line it stands on."""
    told = dict(_told(loaded))
    view = View(
        services=tuple(_service(name, role, merged) for name, (role, merged) in told.items()),
        engine=loaded.profile.engine.kind,
        transfer=loaded.profile.transfer,
        model=f"{loaded.profile.model.path or ''} {loaded.profile.model.name}",
    )
    findings: dict[tuple[str, KeyPath], Finding] = {}
    for rule, hit in judge(view):
        role, merged = told[hit.service]
        written = getattr(merged, hit.section).get(hit.name)
        path = written.path if written else (role, hit.section, hit.name)
        findings.setdefault((rule.code, path), Finding(path, hit.error, hit.write, rule.severity, rule.code))
    return [loaded.problem(finding) for finding in findings.values()]


def _told(loaded: Loaded) -> Iterator[tuple[str, tuple[str, Merged]]]:
    for server in servers(loaded.profile):
        yield server.name, (server.role, settings_of(loaded, server.role, server.index))
    if loaded.profile.router:
        yield "router", ("router", settings_of(loaded, "router"))


def _service(name: str, role: str, merged: Merged) -> ServiceView:
    return ServiceView(
        name=name,
        role=role,
        args={key: w.value for key, w in merged.args.items() if w.value is not None},
        env={key: _text(w.value) for key, w in merged.env.items() if w.value is not None},
    )


def _text(value: bool | str) -> str:
    return str(int(value)) if isinstance(value, bool) else value
