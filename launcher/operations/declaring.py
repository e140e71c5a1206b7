"""`declare`: admit one value of one variable, with a reason, and no other."""

from __future__ import annotations

import datetime as dt
import json
import re
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import InputError
from launcher.knobs.catalogue import Catalogue, catalogue
from launcher.knobs.catalogue.places import local_folder
from launcher.knobs.judging import Context, Verdict, safe_text
from launcher.knobs.voices import Voices
from launcher.operations.declaring_in_profile import into_profile, values_in
from launcher.profile import load
from launcher.store import cache_dir, who
from launcher.store.files import in_words, make_folder, replace

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Declaring:
    """A declaration, and the file that takes it."""

    name: str
    value: str
    path: Path
    text: str | None
    """The whole file as it becomes; None where the value is admitted already."""
    added: str = ""
    """The lines that are new."""


def propose(name: str, *, why: str, value: str | None = None, profile: Path | None = None) -> Declaring:
    """What `declare` would write: under `knobs` of `profile`, or without one in the local catalogue. Writes nothing.

    Without `value`, the one that the profile gives the variable. Raises InputError where there is no such value or
    several, where the name is no variable's, and where the catalogue speaks against it.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"{name!r} is no name of a variable", hint="flags need no declaration: the engine knows them")
    if not why.strip() or not why.isprintable():
        raise InputError("a declaration needs a reason, on one line", hint=f'pdlaunch declare {name} --why "..."')
    if value is not None and not value.isprintable():
        raise InputError("the value holds characters that cannot be printed", hint="write what the variable can hold")
    known = catalogue(cache_dir() / "knobs")
    if profile is not None:
        loaded = load(profile)
        meant = _value(name, value, values_in(loaded, name))
        verdict = _require_room(known, name, meant)
        site = loaded.profile.knobs.get(name)
        if (verdict and verdict.admitted) or (site and meant in _listed(site.safe)):
            return Declaring(name, meant, profile, None)
        return Declaring(name, meant, profile, *into_profile(loaded, name, meant, why))
    meant = _value(name, value, ())
    verdict = _require_room(known, name, meant)
    path = local_folder() / f"{name}.yaml"
    if verdict and verdict.admitted:
        return Declaring(name, meant, path, None)
    text = _entry(name, _before(known, name, path), meant, why)
    return Declaring(name, meant, path, text, text)


def write(declaring: Declaring) -> None:
    """Put the file in its place in one step; raises PdlaunchError where the system refuses."""
    if declaring.text is not None:
        with in_words(f"declare {declaring.name}", declaring.path.parent):
            make_folder(declaring.path.absolute().parent)
            replace(declaring.path.absolute(), declaring.text.encode())


def _value(name: str, given: str | None, found: tuple[str, ...]) -> str:
    if given is not None:
        return given
    if len(found) == 1:
        return found[0]
    several = f"which value? the profile has several of {name}: {', '.join(found)}"
    said = several if found else f"which value of {name}?"
    hint = f'pdlaunch declare {name} --value {found[0] if found else "VALUE"} --why "..."'
    raise InputError(said, hint=hint)


def _listed(safe: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (safe,) if isinstance(safe, str) else safe or ()


def _require_room(known: Catalogue, name: str, value: str) -> Verdict | None:
    """The catalogue's verdict; raises InputError where it has one that a declaration would have to widen."""
    entries = known.entries(name)
    if not entries:
        return None
    first = entries[0].declaration
    if first.owned:
        raise InputError(f"the launcher decides {name}: {first.about}", hint=f"pdlaunch explain {name}")
    judged = Voices(entries).judge([value], Context())
    verdict, by = judged.verdict, judged.by
    if verdict.outcome in ("safe", "unknown"):
        return verdict
    reason = f"known bad: {verdict.why}" if verdict.outcome == "bad" else f"safe: {safe_text(by.declaration)}"
    raise InputError(
        f"{name}={value} is not a declaration's to admit: {reason} ({by.place})",
        hint=f"to start it all the same, write under `allow:` of the profile what: ROLE.env.{name}={value}",
    )


def _before(known: Catalogue, name: str, path: Path) -> tuple[str, ...]:
    """Values that the file at `path` admits by now; raises InputError where it says more than `declare` writes."""
    for entry in known.entries(name):
        if entry.file == path:
            ranges = entry.declaration.safe
            if len(ranges) == 1 and ranges[0].values:
                return ranges[0].values
            raise InputError(f"{entry.place} declares {name} by hand", hint="add the value there")
    return ()


def _entry(name: str, before: tuple[str, ...], value: str, why: str) -> str:
    """A catalogue of one knob. JSON's strings are YAML's, so no text can break out of its place."""
    today = dt.datetime.now().astimezone().date()
    values = json.dumps([*before, value], ensure_ascii=False)
    return (
        f"# Written by `pdlaunch declare`: {name} may have these values and no other.\n"
        f"component: local\n\nknobs:\n  {name}:\n    about: declared on this machine\n    type: str\n"
        f"    safe: {{values: {values}}}\n    claims:\n      - says: {json.dumps(why, ensure_ascii=False)}\n"
        f"        source: {json.dumps(who(), ensure_ascii=False)}\n        status: inferred\n        date: {today}\n"
    )
