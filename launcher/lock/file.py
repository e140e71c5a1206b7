"""The lock as YAML, and back: each section under its digest, so that an edit has a name."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launcher.lock.model import SCHEMA, About, Intent, Lock
from launcher.lock.origins import compact, expand, match
from launcher.lock.validating import as_old, require_end, require_schema, validated
from launcher.lock.yaml_reading import Place, load, refused
from launcher.lock.yaml_writing import Flow, dump

_COMMENTS = {
    "lock": "What starts, byte for byte. Written by pdlaunch and refused after an edit: change the profile instead.",
    "about": "\nIn no digest: who wrote this and when, and where each value came from.",
}


def to_yaml(lock: Lock) -> str:
    """The lock's text: equal locks give equal bytes, and `from_yaml` gives the lock back."""
    return dump(document(lock), _COMMENTS)


def document(lock: Lock) -> dict[str, Any]:
    """The lock as plain values, in the order and shape of its YAML; digests included."""
    intent = lock.intent
    sections = intent.model_dump(mode="json", exclude={"deployment", "profile"})
    packages = intent.engine.packages
    services = intent.services_digests
    sections["services"] = {
        name: {"digest": services[name], **_flowing(service)} for name, service in sections["services"].items()
    }
    sections["engine"]["packages"] = {
        "count": packages.count,
        "digest": packages.digest,
        **sections["engine"]["packages"],
    }
    return {
        "lock": SCHEMA,
        "deployment": intent.deployment,
        "digest": intent.digest,
        "profile": intent.profile,
        "digests": intent.digests,
        **sections,
        "about": _about(lock.about),
    }


def _flowing(service: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers on one line, and one line for each flag with its values."""
    lists = {key: Flow(service[key]) for key in ("gpus", "reserved")}
    return {**service, **lists, "argv": [Flow(words) for words in service["argv"]]}


def _about(about: About) -> dict[str, Any]:
    origins = {
        name: {
            "argv": [Flow(compact(origin)) for origin in found.argv],
            "env": {variable: Flow(compact(origin)) for variable, origin in found.env.items()},
            "secrets": {secret: Flow(compact(origin)) for secret, origin in found.secrets.items()},
        }
        for name, found in about.origins.items()
    }
    rest = about.model_dump(mode="json", exclude={"origins"})
    return {("from" if key == "source" else key): value for key, value in rest.items()} | {"origins": origins}


def from_yaml(text: str, where: Path | str) -> Lock:
    """The lock that `to_yaml` wrote.

    Raises InputError, naming `where` and the section, for a text that was cut short or edited, and for the schema of a
    newer pdlaunch.
    """
    found, lines = load(text, where)
    whole = copy.deepcopy(found)
    require_schema(found, "lock", SCHEMA, where)
    require_end(text, where)
    written = _take_digests(found, where)
    about = _about_values(found.pop("about", None), where)
    intent = validated(Intent, found, lines, where)
    _compare(intent, written, where)
    lock = Lock(intent=intent, about=validated(About, about, lines, where, ("about",)))
    match(lock, where)
    if as_old(document(lock), whole) != whole:  # a number in another spelling
        raise refused(where, "was cut short or edited: it is not as pdlaunch writes it")
    return lock


def _take_digests(found: dict[str, Any], where: Path | str) -> dict[Place, Any]:
    """Remove every digest from the document, so that the values are left; place to what stands there."""
    written: dict[Place, Any] = {("digest",): _take(found, ("digest",), where)}
    digests = _take(found, ("digests",), where)
    written |= {("digests", name): value for name, value in _mapping(digests, "digests", where).items()}
    for name, service in _mapping(found.get("services"), "services", where).items():
        written["services", name] = _take(_mapping(service, f"services.{name}", where), ("digest",), where)
    packages = _mapping(found.get("engine"), "engine", where).get("packages")
    for key in ("count", "digest"):
        written["engine", "packages", key] = _take(_mapping(packages, "engine.packages", where), (key,), where)
    return written


def _take(values: dict[str, Any], place: Place, where: Path | str) -> Any:
    if place[-1] not in values:
        raise refused(where, f"was cut short or edited: {'.'.join(map(str, place))} is missing")
    return values.pop(str(place[-1]))


def _mapping(value: Any, name: str, where: Path | str) -> dict[str, Any]:
    if not isinstance(value, dict):
        what = "is missing" if value is None else "is no mapping"
        raise refused(where, f"was cut short or edited: {name} {what}")
    return value


def _about_values(about: Any, where: Path | str) -> dict[str, Any]:
    values = _mapping(about, "about", where)
    if "from" in values:
        values["source"] = values.pop("from")
    origins = _mapping(values.get("origins"), "about.origins", where)
    return {**values, "origins": {name: expand(found) for name, found in origins.items()}}


def _compare(intent: Intent, written: Mapping[Place, Any], where: Path | str) -> None:
    """The digests that stand in the file against those of what stands there, from the narrowest to the widest."""
    packages = intent.engine.packages
    actual: dict[Place, Any] = {
        **{("services", name): digest for name, digest in intent.services_digests.items()},
        ("engine", "packages", "count"): packages.count,
        ("engine", "packages", "digest"): packages.digest,
        **{("digests", name): digest for name, digest in intent.digests.items()},
        ("digest",): intent.digest,
    }
    if odd := sorted(".".join(map(str, place)) for place in written.keys() ^ actual.keys()):
        raise refused(where, f"was cut short or edited: {odd[0]} is missing or too much")
    for place, digest in actual.items():
        if written[place] != digest:
            section = ".".join(map(str, place)).removeprefix("digests.")
            if place == ("digest",):
                section = "deployment or profile"
            raise refused(where, f"{section} was edited: its digest is {digest}, the file says {written[place]}")
