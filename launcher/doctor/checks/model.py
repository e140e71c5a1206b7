"""DR601: the model's files are all there and whole."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.doctor.check import Check, with_an_engine
from launcher.doctor.facts import Facts
from launcher.doctor.finding import Finding
from launcher.doctor.words import count, size

_SHOWN = 3


def whole(facts: Facts) -> Iterator[Finding]:
    """Every shard of the index is there, and as long as its own header says."""
    found = facts.weights
    if found is None:
        return
    if not found.present:
        local = found.path.startswith("/")
        lookup = "" if local else ": the engine looks it up itself, and may download it"
        text = f"there is no {found.path} on this machine{lookup}"
        fix = f"ls -ld {found.path}; or write where the model lies" if local else None
        yield Finding("blocker" if local else "note", "DR601", text, fix)
        return
    again = f"download it again into {found.path}     (huggingface-cli download resumes)"
    if found.missing:
        listed = _some(found.missing)
        yield Finding("blocker", "DR601", f"{found.path} lacks {listed}", again)
    for name, fault in found.broken[:_SHOWN]:
        yield Finding("blocker", "DR601", f"{found.path}/{name} {fault}", again)
    if len(found.broken) > _SHOWN:
        yield Finding("blocker", "DR601", f"and {len(found.broken) - _SHOWN} more of {found.path} are not whole", again)
    if found.unfinished:
        text = f"a download into {found.path} was not finished: {_some(found.unfinished)}"
        yield Finding("warning", "DR601", text, again)
    if not (found.missing or found.broken or found.unfinished or found.files):
        yield Finding("note", "DR601", f"{found.path} holds no safetensors: its weights were not looked at")
    elif not (found.missing or found.broken or found.unfinished):
        files = count(found.files, "weight file")
        yield Finding("ok", "DR601", f"{found.path}: {files}, {size(found.size)}, all as long as their headers say")


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


CHECKS = (
    Check(
        "DR601",
        "the model's files are all there and whole",
        "https://huggingface.co/docs/safetensors/index#format",
        whole,
        with_an_engine,
        before_up=True,
    ),
)
