"""What is told of a change from one verdict to the next, a line each: nothing is told twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from launcher.watch.sample import Body
from launcher.watch.scene import span
from launcher.watch.verdict import Finding, Verdict


def changes(before: Verdict | None, after: Verdict) -> Iterator[str]:
    """The lines, what is wrong first."""
    old = {finding.key: finding for finding in before.findings} if before else {}
    new = {finding.key: finding for finding in after.findings}
    if before is None or before.state in ("changing", "stopped"):
        yield f"generation {after.generation}: {after.state}"
    for key, finding in new.items():
        told = finding.weight == "dead" and before is not None and bool(before.services)  # when it was seen
        if key not in old and not told:
            yield str(finding)
    if before is None or after.state in ("changing", "stopped"):
        return
    for key, finding in old.items():
        if key not in new and finding.weight != "dead":
            yield _over(finding, after)
    for name, service in after.services.items():
        was = before.services.get(name)
        if was and was.standing in ("loading", "dead") and service.standing in ("idle", "busy", "waiting"):
            yield f"{name} ready"


def _over(finding: Finding, after: Verdict) -> str:
    lasted = span(after.time - finding.since)
    if finding.weight == "hung":
        return f"{finding.service} recovered after {lasted}" if _lives(finding, after) else f"{finding.service} ended"
    return f"{finding.service}: over after {lasted}: {finding.words}"


def _lives(finding: Finding, after: Verdict) -> bool:
    service = after.services.get(finding.service)
    return service is None or service.standing not in ("dead", "loading")


def deaths(before: Mapping[str, Body], after: Mapping[str, Body], time: float) -> Iterator[str]:
    """What became of processes since the last look at them; `time` in seconds since the epoch."""
    for name in sorted({*before, *after}):
        was, now = before.get(name), after.get(name)
        if was and (now is None or not now.main.same(was.main)):
            yield f"{name} died: pid {was.main.pid} is gone after {span(time - was.since)}"
        if now and (was is None or not now.main.same(was.main)):
            yield f"{name} started: pid {now.main.pid}"
        elif now and was and len(now.lost) > len(was.lost):
            lost = now.lost[-1]
            yield f"{name} died: its process {lost.pid} ({lost.name}) is gone; pid {now.main.pid} lingers without it"
