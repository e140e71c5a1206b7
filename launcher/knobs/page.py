"""Generates docs/knobs.md from the shipped catalogue.

Run as ``python -m launcher.knobs.page`` in a checkout. A test compares the file with what this returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from launcher.knobs.catalogue import Entry, layer, shipped_files
from launcher.knobs.catalogue.compiled import Compiled
from launcher.knobs.declaration import SERVERS, Claim, Declaration
from launcher.knobs.judging import safe_text

PAGE = Path(__file__).parents[2] / "docs" / "knobs.md"
_INTRO = """\
# Knobs

Generated from the catalogue by `python -m launcher.knobs.page`.

Every variable and flag of which somebody has said something: where it is safe, what goes wrong elsewhere, and who says
so. A value outside what is safe here, or one of which nothing is known, stops a profile until an entry under `allow`
admits it. The engine's own flags need no entry: those without one, and those whose safe range is unknown, are taken.

Claims are *measured*, *documented* (a source or an author says so), *inferred* (judgement), *disputed* or *retracted*.
A site adds its own in `/etc/pdlaunch/knobs/*.yaml`, a user in `~/.config/pdlaunch/knobs/*.yaml`, in the same form; both
add names, and narrow what is said here. They never widen it.

`pdlaunch explain NAME` shows one of them with its value here and its history, `pdlaunch knobs --undeclared` what the
engine reads and nobody has declared, and `pdlaunch declare NAME --why "..."` admits one value of such a name.
"""


def page() -> str:
    """The page: a section for each file of the catalogue, a paragraph for each knob."""
    files = shipped_files()
    known = layer(Compiled(None).entries(files), ())
    entries = [entry for name in known for entry in known.entries(name)]
    titles = {path: path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ") for path in files}
    count = f"\n{len(entries)} knobs; of {sum(not e.declaration.known for e in entries)} no safe range is known yet.\n"
    parts = [_INTRO, count]
    for path, group in groupby(sorted(entries, key=lambda e: (e.file, e.declaration.name)), lambda e: e.file):
        parts.append(f"\n## {titles[path]}\n")
        parts += map(_knob, group)
    return "".join(parts)


def _knob(entry: Entry) -> str:
    one = entry.declaration
    return "\n".join([f"\n### `{one.name}`\n", one.about + "\n", *_lines(one), ""])


def _lines(one: Declaration) -> Iterator[str]:
    unit = f" in {one.unit}" if one.unit else ""
    default = f"; `{one.default}` if unset" if one.default else ""
    yield f"- {one.type}{unit}, read by {one.component}{default}"
    establish = f"; to be established by {one.establish}" if one.establish else ""
    yield f"- **safe: {_plain(safe_text(one))}**{_plain(establish)}"
    for bad in one.bad:
        yield f"- **bad: {_plain(str(bad))}**: {_plain(bad.does)}"
    if one.hazard:
        yield f"- hazard: {_plain(one.hazard)}"
    yield f"- {'; '.join(_scope(one))}"
    for claim in one.claims:
        yield f"- {_claim(claim)}"


def _scope(one: Declaration) -> Iterator[str]:
    if one.kind == "machine":
        yield "of the machine: no line of a profile"
        return
    where = "every server" if one.roles == SERVERS else " and ".join(one.roles)
    over = f" over {' and '.join(one.transports)}" if one.transports else ""
    yield f"acts on {where}{over}; a change restarts {one.restart}"
    if one.owned:
        yield "decided by the launcher"
    if one.only_fork:
        yield "read by forks only"
    if one.can_change_answers:
        yield "can change answers"
    if one.depends_on_context:
        yield "its effect depends on the context length"


def _claim(claim: Claim) -> str:
    about = ", ".join(filter(None, (claim.date, claim.hardware)))
    said = f"*{claim.status}*: {_plain(claim.says)}{f' ({about})' if about else ''}"
    url, _, rest = claim.source.partition(" ")
    source = f"<{url}>{f' {rest}' if rest else ''}" if url.startswith("https://") else claim.source
    return f"{said}; {source}"


def _plain(text: str) -> str:
    """Text that Markdown shows as it stands."""
    return "".join(f"\\{letter}" if letter in "*_[]<>`|" else letter for letter in text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
