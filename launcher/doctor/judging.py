"""Judging gathered facts by every check: findings worst first, and what was left out with the reason."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, replace

from launcher.doctor.checks import CHECKS
from launcher.doctor.facts import Facts
from launcher.doctor.finding import LEVELS, Finding, LeftOut, Level
from launcher.profile.model import Waiver


@dataclass(frozen=True, slots=True)
class Verdict:
    """What all checks say together."""

    findings: tuple[Finding, ...]
    """Worst first, in the order of the checks within a level."""
    left_out: tuple[LeftOut, ...]

    def of(self, level: Level) -> tuple[Finding, ...]:
        """The findings of one level."""
        return tuple(finding for finding in self.findings if finding.level == level)


def judge(facts: Facts, today: dt.date, *, before_up: bool = False) -> Verdict:
    """The verdict of every check that makes sense, or of those that `up` makes.

    A blocker or warning that a waiver of the plan names, up to its last day, is a note that says whose it is.
    """
    found: list[Finding] = []
    left: list[LeftOut] = []
    for check in CHECKS:
        if before_up and not check.before_up:
            continue
        reason = check.makes_sense(facts)
        if reason:
            left.append(LeftOut(check.code, check.title, reason))
        else:
            found += check.judge(facts)
    waivers = [w for w in facts.plan.allowed if w.until >= today] if facts.plan else []
    settled = [_settled(finding, waivers) for finding in found]
    return Verdict(tuple(sorted(settled, key=lambda f: LEVELS.index(f.level))), tuple(left))


def _settled(finding: Finding, waivers: Iterable[Waiver]) -> Finding:
    if finding.level in ("note", "ok"):
        return finding
    waiver = next((w for w in waivers if w.what == finding.code), None)
    if waiver is None:
        return finding
    text = f"{finding.text}; allowed by {waiver.by} until {waiver.until}: {waiver.why}"
    return replace(finding, level="note", text=text, fix=None)
