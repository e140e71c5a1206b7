"""Values that the profile's own declarations call bad, or do not call safe."""

from __future__ import annotations

from collections.abc import Iterator

from launcher.profile.findings import DELETE, Finding
from launcher.profile.layering import levels
from launcher.profile.lines import Lines
from launcher.profile.model import Profile, SiteKnob
from launcher.profile.tree import KeyPath
from launcher.profile.waivers import allows


def check_declared(profile: Profile, lines: Lines) -> Iterator[Finding]:
    """Find settings whose value a declaration under `knobs` does not admit and no waiver allows."""
    for path, level in levels(profile):
        for section, values in (("env", level.env), ("args", level.args)):
            for name, value in values.items():
                here: KeyPath = (*path, section, name)
                knob = profile.knobs.get(name)
                written = lines.written(*here)
                if knob and value is not None and written is not None and not allows(profile, here, written):
                    yield from _judged(here, name, written, knob, lines)


def _judged(here: KeyPath, name: str, written: str, knob: SiteKnob, lines: Lines) -> Iterator[Finding]:
    safe = (knob.safe,) if isinstance(knob.safe, str) else knob.safe or ()
    line = lines.at("knobs", name)
    said = f"safe: {', '.join(safe) or 'not said'}     said by: this profile, line {line}"
    write = DELETE if "unset" in safe or not safe else f"{name}: {safe[0]}"
    if written in knob.bad:
        yield Finding(here, f"known bad: {knob.bad[written]}\n         {said}", write)
    elif safe and written not in safe:
        yield Finding(here, f"untested: nobody has said that this value is safe\n         {said}", write)
