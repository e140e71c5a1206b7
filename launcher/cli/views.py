"""How answers look on a terminal: pure, from an operation's answer to text."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from launcher.cli import standing_view, watch_view
from launcher.cli.output import duration, named, table
from launcher.cli.shell_noise import in_a_line, is_noise

if TYPE_CHECKING:
    from launcher.compare import Change, Difference
    from launcher.operations.obstacles import Obstacles
    from launcher.operations.planning import Proposal
    from launcher.operations.rollback import Way
    from launcher.operations.status import Status
    from launcher.operations.up import Up


def proposal(found: Proposal) -> str:
    """The plan: against what, the services with their ports, the changes, what is known of the time."""
    plan = found.plan
    against = f"against generation {found.against}" if found.against is not None else "nothing was started yet"
    parts = [f"{plan.deployment}, {against}", "", table([("service", "gpus", "ports", "restart"), *_services(found)])]
    if found.changes:
        parts += ["", "change", *_changes(found.changes)]
    elif found.damage:
        parts += ["", f"what changes cannot be told: {found.damage}"]
    elif found.against is not None:
        parts += ["", f"no change: generation {found.against} is exactly this"]
    if plan.notes:
        parts += ["", *plan.notes]
    takes = [f"takes   about {duration(found.eta)}, as the last time"] if found.eta else []
    proven = [f"proven  {found.proven}"] if found.against is not None else []
    parts += ["", *takes, *proven] if takes or proven else []
    parts += _in_the_way(found.obstacles)
    return "\n".join(parts)


def _in_the_way(found: Obstacles) -> list[str]:
    lines = []
    for holder in found.holders:
        who = f"{holder.by}, since {when(holder.since)}" + (f': "{holder.why}"' if holder.why else "")
        way = "up --replace stops it" if holder.replaceable else "of another state folder: up --replace leaves it alone"
        lines.append(f"  {', '.join(holder.held)} held by {holder.deployment} ({who}); {way}")
    lines += [f"  {line}" for line in found.ports]
    return ["", "in the way", *lines] if lines else []


def _services(found: Proposal) -> list[tuple[str, str, str, str]]:
    rows = []
    for service in found.plan.services:
        ports = "  ".join(str(port) if use == "http" else f"{use} {port}" for use, port in service.ports.items())
        gpus = ranges(service.gpus)
        rows.append((service.name, gpus, ports, _restart(found, service.name)))
    return rows


def ranges(numbers: tuple[int, ...]) -> str:
    """``0-3`` for four in a row, ``0,2`` for others, ``-`` for none."""
    if len(numbers) > 1 and numbers == tuple(range(numbers[0], numbers[0] + len(numbers))):
        return f"{numbers[0]}-{numbers[-1]}"
    return ",".join(map(str, numbers)) or "-"


def _restart(found: Proposal, name: str) -> str:
    if name in found.move.keep:
        return "no"
    return "yes" if name in found.move.stop else "starts"


_MOST_FILES = 10
"""Source files that a plan names one by one."""


def _changes(changes: Sequence[Change]) -> list[str]:
    files = [change for change in changes if change.kind == "source"]
    lines = [_change(change) for change in changes if change.kind != "source"]
    lines += [f"  {change.subject}  {_how(change)}" for change in files[:_MOST_FILES]]
    more = len(files) - _MOST_FILES
    return lines + ([f"  and {more:,} more source files"] if more > 0 else [])


def _how(change: Change) -> str:
    return "new" if change.before is None else "gone" if change.after is None else "edited"


def _change(change: Change) -> str:
    side = change.after or change.before
    return f"  {change}" + (f"    {side.origin}" if side and side.origin else "")


def proposal_data(found: Proposal) -> dict[str, Any]:
    """The plan as data."""
    return {
        "plan": found.plan,
        "against": found.against,
        "changes": found.changes,
        "move": found.move,
        "eta_seconds": found.eta,
        "proven": found.proven,
        "problems": found.problems,
        "obstacles": found.obstacles,
        "damage": found.damage,
    }


def up_data(done: Up) -> dict[str, Any]:
    """How `up` ended, as data."""
    arrived = done.arrived
    return {
        "deployment": done.deployment,
        "generation": done.generation,
        "router": {"url": done.url},
        "changed": arrived is not None,
        "restarted": list(arrived.move.start) if arrived else [],
        "proven_tokens": arrived.proven.tokens if arrived else None,
        "confirm_until": done.until.isoformat(timespec="seconds") if done.until else None,
        "seconds": round(arrived.seconds, 3) if arrived else 0.0,
    }


def status(seen: Status) -> str:
    """Three lines when all is well; the services one by one when it is not."""
    url = f"    {seen.router.url}" if seen.router and seen.state == "ok" else ""
    head = f"{seen.deployment}  {watch_view.state(seen)}" + _generation(seen) + url
    told = list(standing_view.lines(seen.standing))
    if seen.state == "ok":
        running = sum(s.running or 0 for s in seen.services)
        restarts = sum(s.restarts for s in seen.services)
        counted = f"{restarts} restarts" if restarts else "no restarts"
        services = "1 service" if len(seen.services) == 1 else f"{len(seen.services)} services"
        lines = [f"  {services}, {counted}; {running} requests running", f"  {_proven(seen)}"]
        lines += [f"  {line}" for line in (*watch_view.findings(seen), *watch_view.nobody(seen))]
        return "\n".join([head, *lines, *([f"  {seen.remark}"] if seen.remark else []), *told])
    parts = [head]
    if seen.remark:
        parts.append(f"  {seen.remark}")
    parts += [f"  {line}" for line in watch_view.findings(seen)]
    if seen.services:
        last = watch_view.heading(seen)
        rows = [("service", "state", "pid", "up", "gpus", "port", "running", "queued", *last, "restarts"), *_rows(seen)]
        parts += ["", *(f"  {line}" for line in table(rows).splitlines())]
    if known := [*_speaks_for(seen), *told, *listed("evidence", watch_view.evidence(seen))]:
        parts += ["", *known]
    return "\n".join(parts)


def _generation(seen: Status) -> str:
    if seen.generation is None:
        return ""
    who = f" ({seen.by}" + (f', "{seen.why}"' if seen.why else "") + ")" if seen.by else ""
    since = f" since {when(seen.since)}" if seen.since else ""
    named = f" {', '.join(map(_quoted, seen.names))}" if seen.names else ""
    return f"    generation {seen.generation}{named}{since}{who}"


def _quoted(name: str) -> str:
    return f'"{name}"'


def _proven(seen: Status) -> str:
    from launcher.operations.evidence import how_far

    proven = how_far(seen.proven_tokens, seen.traffic_tokens, seen.context_tokens)
    if proven is None:
        return "nothing is proven yet"
    waived = f"{len(seen.waived)} waived" if seen.waived else "nothing waived"
    drift = f"{len(seen.drift)} drifted: {named('pdlaunch diff --live', seen.deployment)}" if seen.drift else "no drift"
    return f"proven {proven}; {drift}, {waived}"


def _speaks_for(seen: Status) -> list[str]:
    """What helps to decide where to go from here; nothing where somebody stopped it."""
    from launcher.operations.evidence import how_far

    if seen.state in ("stopped", "empty"):
        return []
    proven = how_far(seen.proven_tokens, seen.traffic_tokens, seen.context_tokens)
    best = seen.good if seen.good and seen.good.generation != seen.generation else None
    also = f", also {', '.join(map(_quoted, best.names))}" if best and best.names else ""
    return [
        *listed("proven", [proven] if proven else []),
        *listed("traffic", [seen.served_words] if seen.served_words else []),
        *listed("good", [f"{best.generation}{also}: {best.words}"] if best else []),
    ]


def _rows(seen: Status) -> list[tuple[str, ...]]:
    return [
        (
            s.name,
            s.state.upper() if s.state == "hung" else s.state,
            str(s.pid or "-"),
            duration(time.time() - s.since) if s.since else "-",
            ranges(s.gpus),
            str(s.ports["http"]),
            "-" if s.running is None else str(s.running),
            "-" if s.queued is None else str(s.queued),
            *watch_view.last_token(seen, s),
            str(s.restarts),
        )
        for s in seen.services
    ]


def when(iso: str | None) -> str:
    """The time of day, with the date where that is not today."""
    if iso is None:
        return "-"
    at = dt.datetime.fromisoformat(iso)
    today = dt.datetime.now().astimezone().date()
    return at.strftime("%H:%M" if at.date() == today else "%Y-%m-%d %H:%M")


def way(found: Way) -> str:
    """What a rollback would do: what comes back, what cannot, what is as it was, what it costs."""
    about, back = found.generation.about, found.restoring
    why = f', "{about.why}"' if about.why else ""
    lines = [f"to generation {found.generation.number} ({when(about.written.isoformat())}, {about.by}{why})"]
    lines += listed("served", [str(found.evidence)] if found.evidence else [])
    lines += listed("comes back", _coming_back(back.comes_back))
    lines += listed("as it was", [", ".join(back.as_it_was)] if back.as_it_was else [])
    for beyond in back.beyond:
        lines += listed("cannot", [beyond.what, *([f"  {beyond.command}"] if beyond.command else [])])
    if not back.beyond and not back.unknown:
        lines += listed("cannot", ["nothing"])
    lines += listed("not known", [back.unknown] if back.unknown else [])
    lines += listed("damaged", list(found.damage))
    lines += listed("edits", [f"stay in generation {found.current}"] if back.comes_back and found.current else [])
    lines += listed("ends first", [str(found.ends)] if found.ends else [])
    lines += listed("restarts", [", ".join(found.move.start) or "nothing"])
    lines += listed("takes", [f"about {duration(found.eta)} to load"] if found.eta else [])
    return "\n".join(lines)


def _coming_back(found: Sequence[Difference]) -> list[str]:
    noise = [difference for difference in found if is_noise(difference)]
    said = [str(d.change) + _edit(d) for d in found if d not in noise] + ([in_a_line(noise)] if noise else [])
    return said or ["nothing: it is the same"]


def listed(label: str, texts: list[str]) -> list[str]:
    """Lines of texts, with the label before the first only."""
    return [f"  {label if i == 0 else '':<11} {text}" for i, text in enumerate(texts)]


def _edit(difference: Difference) -> str:
    return f"  +{difference.edit.added} -{difference.edit.removed}" if difference.edit else ""
