"""How what runs looks beside what was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from launcher.compare.drift import Finding
    from launcher.operations.checkouts import Checkout
    from launcher.operations.drifting import Seen

MOST_SHOWN = 12
"""Lines of one kind that are shown; all are in the JSON."""


def line(seen: Seen, generation: int) -> str:
    """Whether what runs is that generation, in a line."""
    if not seen.services:
        return "running: nothing"
    if not seen.alarms:
        return f"running equals {generation}: yes (command, environment and executable of {_processes(seen)})"
    count = len(seen.alarms)
    return f"running equals {generation}: no, {count} deviation{'' if count == 1 else 's'}: pdlaunch diff --live"


def text(seen: Seen, checkout: Checkout | str | None, generation: int) -> Iterator[str]:
    """The deviations by what they mean, then what is known and what could not be seen."""
    from launcher.compare.drift import WORDS

    if seen.alarms:
        count = len(seen.alarms)
        yield f"running equals {generation}: no, {count} deviation{'' if count == 1 else 's'}"
    else:
        yield f"running equals {generation}: yes (command, environment, files and sockets of {_processes(seen)})"
    kinds = {finding.kind: [f for f in seen.findings if f.kind == finding.kind] for finding in seen.findings}
    known = kinds.pop("engine", [])
    for kind in sorted(kinds, key=list(WORDS).index):
        yield f"  {WORDS[kind]}"
        yield from (f"    {finding}" for finding in kinds[kind][:MOST_SHOWN])
        if len(kinds[kind]) > MOST_SHOWN:
            yield f"    and {len(kinds[kind]) - MOST_SHOWN} more; all of them: --json"
    if known:
        variables = len({f.subject for f in known if f.subject.startswith("env ")})
        arguments = len({f.subject for f in known if f.subject.startswith("argument ")})
        yield f"  set by the engine itself: {variables} variables, {arguments} arguments; --json lists them"
    yield from _checkout(checkout)


def _processes(seen: Seen) -> str:
    count = sum(len(service.processes) for service in seen.services.values())
    return f"{count} process{'' if count == 1 else 'es'}"


def _checkout(checkout: Checkout | str | None) -> Iterator[str]:
    if checkout is None or isinstance(checkout, str):
        yield f"  the checkout was not compared: {checkout}"
        return
    place = ", ".join(map(str, checkout.places))
    if checkout.edited:
        yield f"  not in effect before the next up: edits in {place}"
        yield from (f"    {e.name}  {e.what}{f' {e.lines}' if e.lines else ''}" for e in checkout.edited[:MOST_SHOWN])
        if len(checkout.edited) > MOST_SHOWN:
            yield f"    and {len(checkout.edited) - MOST_SHOWN} more; all of them: --json"
    if checkout.touched:
        yield f"  same content, touched since: {several(checkout.touched)}"


def several(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    rest = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return ", ".join(names[:4]) + rest


def data(seen: Seen, checkout: Checkout | str | None) -> dict[str, Any]:
    """The same for programs, with everything that was seen."""
    from launcher.compare.drift import without_keys

    return {
        "equal": not seen.alarms,
        "services": [
            {
                "name": service.name,
                "generation": seen.generations[service.name].number if service.name in seen.generations else None,
                "supervised": service.supervised,
                "processes": [
                    {
                        "pid": p.proc.pid,
                        "started": p.proc.created,
                        "command": without_keys(p.proc.cmdline),
                        "executable": p.executable,
                    }
                    for p in service.processes
                ],
            }
            for service in seen.services.values()
        ],
        "findings": [_finding(finding) for finding in seen.findings],
        "checkout": _checkout_data(checkout),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "kind": finding.kind,
        "alarm": finding.alarm,
        "service": finding.service,
        "pid": finding.pid,
        "subject": finding.subject,
        "before": finding.before,
        "after": finding.after,
    }


def _checkout_data(checkout: Checkout | str | None) -> dict[str, Any]:
    if checkout is None or isinstance(checkout, str):
        return {"error": checkout}
    edited = [
        {"name": e.name, "what": e.what, "lines": e.lines._asdict() if e.lines else None} for e in checkout.edited
    ]
    return {"places": checkout.places, "edited": edited, "touched": checkout.touched}
