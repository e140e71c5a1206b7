"""`pdlaunch doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from launcher.cli.options import Deployment, Json
from launcher.cli.output import note, print_json, say
from launcher.errors import InputError

if TYPE_CHECKING:
    from launcher.operations.doctoring import Examination


def doctor(
    profile: Annotated[
        Path | None, typer.Argument(metavar="PROFILE", help="A profile or a lock; else the only deployment.")
    ] = None,
    deployment: Deployment = None,
    gpu: Annotated[int | None, typer.Option("--gpu", min=0, metavar="N", help="Look at this card alone.")] = None,
    deep: Annotated[bool, typer.Option("--deep", help="Import the engine too; takes up to a minute.")] = False,
    json: Json = False,
) -> int:
    """Say whether this machine can serve: cards, driver, ports, limits, a real KV transfer, the model."""
    from launcher.operations.doctoring import doctor as examine
    from launcher.operations.doctoring import examine_card

    if sum(given is not None for given in (profile, deployment, gpu)) > 1:
        raise InputError("one of PROFILE, -d NAME and --gpu N", hint="pdlaunch doctor --help")
    found = examine(profile, deployment, deep=deep) if gpu is None else examine_card(gpu)
    if json:
        print_json(_data(found))
    else:
        _show(found)
    return 1 if found.verdict.of("blocker") else 0


def _show(found: Examination) -> None:
    for finding in found.verdict.findings:
        first, *more = finding.text.splitlines()
        say(f"{finding.level:<8} {finding.code}  {first}")
        for line in more:
            say(f"{'':<16} {line}")
        if finding.fix:
            say(f"{'':<8} fix    {finding.fix}")
    reasons: dict[str, list[str]] = {}
    for left in found.verdict.left_out:
        reasons.setdefault(left.why, []).append(left.code)
    for why, codes in reasons.items():
        say(f"left out {_spans(codes)}: {why}")
    verdict = found.verdict
    counts = [(level, len(verdict.of(level))) for level in ("blocker", "warning", "note")]
    said = ", ".join(f"{number} {level}{'' if number == 1 else 's'}" for level, number in counts if number)
    note()
    note(f"{found.subject}: {said or 'nothing to do'}; {len(verdict.of('ok'))} ok, in {found.seconds:.1f} s")


def _spans(codes: list[str]) -> str:
    """``DR101-DR107, DR301``: checks that follow one another as one span."""
    from launcher.doctor import CHECKS

    order = [check.code for check in CHECKS]
    spans: list[list[str]] = []
    for code in codes:
        if spans and order.index(code) == order.index(spans[-1][-1]) + 1:
            spans[-1].append(code)
        else:
            spans.append([code])
    return ", ".join(span[0] if len(span) == 1 else f"{span[0]}-{span[-1]}" for span in spans)


def _data(found: Examination) -> dict[str, Any]:
    from launcher.doctor import CHECKS

    titles = {check.code: check.title for check in CHECKS}
    return {
        "schema_version": 1,
        "subject": found.subject,
        "findings": [
            {"level": f.level, "code": f.code, "title": titles[f.code], "text": f.text, "fix": f.fix}
            for f in found.verdict.findings
        ],
        "left_out": [{"code": f.code, "title": f.title, "why": f.why} for f in found.verdict.left_out],
    }
