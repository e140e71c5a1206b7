"""Which problems the waivers settle, and which waivers are stale themselves."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator

from launcher.errors import Problem
from launcher.profile.findings import Finding
from launcher.profile.lines import Lines
from launcher.profile.loading import Loaded
from launcher.profile.model import Profile
from launcher.profile.tree import KeyPath, dotted

_CODE = re.compile(r"PD[0-9]{3}")
_MACHINE = re.compile(r"DR[0-9]{3}")
"""A check of `doctor`: whether it objects is the machine's to say, not the profile's."""
_SETTING = re.compile(
    r"(?P<path>(engine|prefill|decode|aggregated|router)(\.replicas\[\d+\])?\.(args|env)\.[^=]+)(=(?P<value>.*))?"
)


def waive(loaded: Loaded, problems: Iterable[Problem], today: dt.date) -> list[Problem]:
    """`problems` without those whose rule a waiver names; with one for each waiver that is over or matches nothing.

    All of them belong to the profile of `loaded` and come back in the order of its lines.
    A waiver holds up to and on its last day. One that is over still matches, so that its own end is the one error.
    """
    given = list(problems)
    fired = {problem.code for problem in given if problem.code}
    allowed = {waiver.what for waiver in loaded.profile.allow}
    left = [problem for problem in given if problem.code is None or problem.code not in allowed]
    left += [loaded.problem(finding) for finding in _stale(loaded.profile, loaded.lines, fired, today)]
    return sorted(left, key=_line)


def _line(problem: Problem) -> int:
    line = problem.where.rpartition(":")[2]
    return int(line) if line.isdecimal() else 0


def _stale(profile: Profile, lines: Lines, fired: set[str], today: dt.date) -> Iterator[Finding]:
    if lines.has("allow", len(profile.allow)):
        return  # one could not be read and was left out, so the others are not at their numbers; its error comes first
    for index, waiver in enumerate(profile.allow):
        here: KeyPath = ("allow", index)
        if waiver.until < today:
            error = f"this waiver of {waiver.by} was for {waiver.what} and ended; settle it, or give it a new date"
            yield Finding((*here, "until"), error)
        elif _CODE.fullmatch(waiver.what):
            if waiver.what not in fired:
                yield Finding((*here, "what"), "matches nothing: the rule has no objection", severity="warning")
        elif not _MACHINE.fullmatch(waiver.what):
            yield from _setting(waiver.what, here, lines)


def _setting(what: str, here: KeyPath, lines: Lines) -> Iterator[Finding]:
    match = _SETTING.fullmatch(what)
    if not match:
        error = "names neither a rule nor a setting; written decode.env.NAME=512, router.args.api-key, PD204 or DR105"
        yield Finding((*here, "what"), error)
        return
    path = {dotted(place): place for place in lines.places}.get(match["path"])
    if path is None or (match["value"] is not None and lines.written(*path) != match["value"]):
        yield Finding((*here, "what"), "matches nothing: this profile does not say so", severity="warning")
