"""What is told of a change from one verdict to the next, a line each: nothing is told twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from launcher.watch.sample import Body, Look
from launcher.watch.scene import span
from launcher.watch.verdict import Finding, Verdict


def changes(before: Verdict | None, after: Verdict) -> Iterator[str]:
    """The lines, what is wrong first."""
    old = {finding.key: finding for finding in before.findings} if before else {}
    new = {finding.key: finding for finding in after.findings}
    for key, finding in new.items():
        if key not in old:
            yield str(finding)
    for key, finding in old.items():
        if key not in new and after.state not in ("changing", "stopped"):
            yield _over(finding, after)
    if before is None:
        yield f"generation {after.generation}: {after.state}"
        return
    if after.state == "stopped" and before.state != "stopped":
        yield "stopped by an operator; nothing is missed"
    for name, service in after.services.items():
        was = before.services.get(name)
        if was and was.standing == "loading" and service.standing in ("idle", "busy", "waiting"):
            yield f"{name} ready"


def _over(finding: Finding, after: Verdict) -> str:
    lasted = span(after.time - finding.since)
    if finding.weight == "hung":
        return f"{finding.service} recovered after {lasted}" if _lives(finding, after) else f"{finding.service} ended"
    if finding.weight == "dead":
        return f"{finding.service} is there again after {lasted}"
    return f"{finding.service}: over after {lasted}: {finding.words}"


def _lives(finding: Finding, after: Verdict) -> bool:
    service = after.services.get(finding.service)
    return service is None or service.standing not in ("dead", "loading")


def deaths(before: Mapping[str, Body], after: Mapping[str, Body], look: Look) -> Iterator[str]:
    """What became of main processes since the last look at them."""
    for name in sorted({*before, *after}):
        was, now = before.get(name), after.get(name)
        if was and (now is None or now.main != was.main):
            age = span(look.time - was.since)
            again = f"; started again as pid {now.main.pid}" if now else ""
            yield f"{name} died: pid {was.main.pid} is gone after {age}{again}"
        elif now and was is None:
            yield f"{name} started: pid {now.main.pid}"
