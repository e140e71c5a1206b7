"""How the generations look on a terminal: one line each, or everything about one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launcher.cli.output import duration, table
from launcher.cli.views import listed, when

if TYPE_CHECKING:
    from launcher.operations.history import Detail, Row

WIDTH = 120
"""Columns of a line where no terminal says how many it has."""
_WHY = 32
"""Columns of a reason: the whole stands in the detail of its generation."""
_QUIET = frozenset({"served", "serves"})


def history(rows: tuple[Row, ...], width: int = WIDTH) -> str:
    """The generations, newest first; no line is longer than `width`, and what was cut ends in an ellipsis."""
    from launcher.operations.counts import count

    head = ("gen", "since", "by", "why", "ran", "requests", "longest", "hung", "proven", "")
    lines = [
        (
            str(row.generation),
            when(row.since or row.written),
            cut(row.by, 16),
            cut(row.why or "-", _WHY),
            duration(row.served) if row.served is not None else "-",
            _watched(row, None if row.requests is None else f"{row.requests:,}"),
            _watched(row, None if row.longest is None else count(row.longest) if row.longest else "-"),
            _watched(row, None if row.hangs is None else when(row.hung)),
            count(row.proven) if row.proven else "-",
            _remark(row),
        )
        for row in rows
    ]
    return "\n".join(cut(line, width) for line in table([head, *lines]).splitlines())


def _watched(row: Row, text: str | None) -> str:
    """``?`` where it served and nobody watched."""
    return text if text is not None else "?" if row.served is not None else "-"


def _remark(row: Row) -> str:
    """Its names, and whatever is not a matter of course."""
    died = f"{row.deaths} died" if row.deaths else ""
    current = row.verdict if row.verdict == "serves" else "current" if row.current else ""
    verdict = "" if row.verdict in _QUIET else row.verdict
    return ", ".join(filter(None, (*row.names, "good" if row.good else "", current, died, verdict)))


def cut(text: str, width: int) -> str:
    """The text, or its beginning and an ellipsis; a line break ends it."""
    line = text.partition("\n")[0]
    line = f"{line} …" if line != text.rstrip("\n") else line
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"


def detail(one: Detail) -> str:
    """Everything about one generation, with nothing cut."""
    row = one.row
    named = f" {', '.join(map(repr, row.names))}" if row.names else ""
    good = ", good" if row.good else ""
    lines = [f"generation {row.generation}{named}  {row.verdict}{good}"]
    lines += listed("written", [f"{when(row.written)} by {row.by}" + (f', "{row.why}"' if row.why else "")])
    lines += listed("from", [one.source] if one.source else [])
    lines += listed("services", [", ".join(one.services)])
    lines += listed("engine", [one.engine] if one.engine else [])
    lines += listed(
        "served", [f"{when(a)} to {when(b)}, ended by {by}" if b else f"since {when(a)}" for a, b, by in one.spans]
    )
    lines += listed("traffic", [one.said] if one.said else [])
    lines += listed("longest", [f"{row.longest:,} tokens at least"] if row.longest else [])
    lines += listed("proven", [f"{row.proven:,} tokens, by probe"] if row.proven else [])
    lines += listed("damaged", list(one.damage))
    lines += listed("journal", list(one.events))
    return "\n".join(lines)
