"""The harvest of a whole engine: find the package, read what it declares, keep the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from launcher.errors import InputError
from launcher.knobs.facts import EngineKnobs, EnvKnob, Note
from launcher.knobs.harvest.cache import Cache, digest, state_of
from launcher.knobs.harvest.files import Listing

if TYPE_CHECKING:
    from launcher.knobs.harvest.source import Module

_SERVER_ARGS, _ENVIRON = "srt/server_args.py", "srt/environ.py"
_INSIDE = (".", "sglang", "python/sglang")


def package_in(path: Path) -> Path:
    """The ``sglang`` package in `path`: the package itself, the folder around it, or a checkout.

    Raises InputError where there is none, or only half of one.
    """
    for inside in _INSIDE:
        package = (path / inside).resolve()
        if (package / _SERVER_ARGS).is_file():
            return package
    if not path.exists():
        raise InputError(f"{path} does not exist", hint="name the folder that holds sglang/srt/server_args.py")
    half = next(((path / inside).resolve() for inside in _INSIDE if (path / inside / "srt").is_dir()), None)
    if half is not None:
        raise InputError(
            f"{half} is half an SGLang: {_SERVER_ARGS} is missing, so its flags cannot be read",
            hint="install it again, or name another engine",
        )
    raise InputError(f"{path} holds no SGLang", hint="name the folder that holds sglang/srt/server_args.py")


def harvest(package_dir: Path, *, cache_dir: Path | None = None) -> EngineKnobs:
    """Everything that the engine in `package_dir` knows of flags and variables, from its source alone.

    `package_dir` is the package, the folder around it, or a checkout. Seconds the first time, a tenth of one when kept
    in `cache_dir` and unchanged. Raises InputError for a folder that is no SGLang, or whose declarations do not parse;
    anything smaller that cannot be read is in the result's `notes`.
    """
    package = package_in(package_dir)
    listing = Listing(package)
    state = digest(listing.files)
    cache = Cache(cache_dir, package, "whole")
    known = cache.load(state)
    if known is not None:
        return known
    found = _with_uses(declarations(package, cache_dir=cache_dir), package, listing)
    cache.store(found, state)
    return found


def _with_uses(declared: EngineKnobs, package: Path, listing: Listing) -> EngineKnobs:
    from launcher.knobs.harvest.status import joined
    from launcher.knobs.harvest.sweep import sweep

    found = sweep(package, "sglang", listing.files)
    env = joined(declared.env, found)
    return replace(
        declared,
        env=env,
        dynamic=tuple(found.dynamic),
        mentions={name: place for name, place in sorted(found.mentions.items()) if name not in env},
        notes=tuple(dict.fromkeys((*declared.notes, *listing.notes, *found.notes))),
        whole=True,
    )


def declarations(package_dir: Path, *, cache_dir: Path | None = None) -> EngineKnobs:
    """The flags and the registry of the engine in `package_dir`; not who reads them (`harvest` does that).

    Milliseconds when kept in `cache_dir` and unchanged, under a second otherwise. Raises InputError for a folder that
    is no SGLang, or whose declarations do not parse.
    """
    package = package_in(package_dir)
    cache = Cache(cache_dir, package, "declared")
    known = cache.load()
    if known is not None:
        return known
    found, files = _read_declarations(package)
    cache.store(found, state_of(package, files), files)
    return found


def _read_declarations(package: Path) -> tuple[EngineKnobs, tuple[str, ...]]:
    # Imported here: a kept harvest needs none of it.
    from launcher.knobs.harvest.deprecations import legacy_prefixes
    from launcher.knobs.harvest.parser import ParserHarvest
    from launcher.knobs.harvest.registry import registry
    from launcher.knobs.harvest.source import SourceTree

    tree = SourceTree(package, name="sglang")
    arguments = _required(tree.module("sglang.srt.server_args"), tree.notes, package / _SERVER_ARGS)
    environ = tree.module("sglang.srt.environ")
    if (package / _ENVIRON).exists():
        environ = _required(environ, tree.notes, package / _ENVIRON)
    env: Mapping[str, EnvKnob] = {} if environ is None else registry(tree, environ)
    try:
        parser = ParserHarvest(tree, arguments, "ServerArgs", {name: knob.default for name, knob in env.items()})
    except LookupError as error:
        raise InputError(
            f"{package / _SERVER_ARGS} declares no class {error}: this is not an SGLang that is understood",
            hint="name another engine",
        ) from error
    parser.run()
    found = EngineKnobs(
        engine="sglang",
        version=_version(package),
        flags=parser.flags,
        env=env,
        legacy_prefixes={} if environ is None else legacy_prefixes(environ),
        notes=(*tree.notes, *parser.notes),
        whole=False,
    )
    return found, (*tree.asked, "_version.py", "version.py")


def _required(module: Module | None, notes: list[Note], path: Path) -> Module:
    if module is None:
        raise InputError(
            f"{path} cannot be read: {notes[-1].place.line}: {notes[-1].text}" if notes else f"{path} is missing",
            hint="the engine could not start from it either; restore the file",
        )
    return module


def _version(package: Path) -> str | None:
    """The version that the package states about itself, else the one that its installer recorded beside it."""
    for file in ("_version.py", "version.py"):
        try:
            text = (package / file).read_text("utf-8", errors="replace")
        except OSError:
            continue
        stated = re.search(r"^__version__\s*(?::[^=]+)?=(?:\s*\w+\s*=)*\s*['\"]([^'\"]+)['\"]", text, re.MULTILINE)
        if stated:
            return stated.group(1)
    recorded = [path.name for path in package.parent.glob(f"{package.name}-*.dist-info")]
    return recorded[0].removeprefix(f"{package.name}-").removesuffix(".dist-info") if len(recorded) == 1 else None
