"""The harvest of a whole engine: find the package, read what it declares and uses, keep the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from launcher.errors import InputError
from launcher.knobs.facts import EngineKnobs, EnvKnob, Note
from launcher.knobs.harvest.cache import Cache, Entry, digest, stamp, state_of
from launcher.knobs.harvest.files import Listing
from launcher.knobs.harvest.layout import GATEWAY, ROUTER, SGLANG, Layout, version_of
from launcher.knobs.harvest.wheel import unpacked
from launcher.patience import patience

if TYPE_CHECKING:
    from launcher.knobs.harvest.perfile import FileFacts
    from launcher.knobs.harvest.source import Module


def harvest(package_dir: Path, *, cache_dir: Path | None = None) -> EngineKnobs:
    """Everything that the SGLang in `package_dir` knows of flags and variables, from its source alone.

    `package_dir` is the package, the folder around it, a checkout, or a wheel. Seconds the first time, a tenth of one
    when kept in `cache_dir` and unchanged. Raises InputError for what is no SGLang, or whose declarations do not parse;
    anything smaller that cannot be read is in the result's `notes`.
    """
    return _whole(SGLANG, package_dir, cache_dir)


def harvest_router(package_dir: Path, *, cache_dir: Path | None = None) -> EngineKnobs:
    """Everything that the router in `package_dir`, sglang-router or smg, knows of flags and variables.

    As `harvest`. What the router's compiled part decides, such as the list of its parsers, stays an expression.
    """
    is_gateway = package_dir.name == GATEWAY.package or (package_dir / GATEWAY.package).is_dir()
    is_router = package_dir.name == ROUTER.package or (package_dir / ROUTER.package).is_dir()
    return _whole(GATEWAY if is_gateway and not is_router else ROUTER, package_dir, cache_dir)


def declarations(package_dir: Path, *, cache_dir: Path | None = None) -> EngineKnobs:
    """The flags and the registry of the SGLang in `package_dir`; not who reads them (`harvest` does that).

    Milliseconds when kept in `cache_dir` and unchanged, under a second otherwise. Raises as `harvest`.
    """
    return _declared(SGLANG, SGLANG.find(package_dir), cache_dir)


def _whole(layout: Layout, path: Path, cache_dir: Path | None) -> EngineKnobs:
    if path.is_file() and path.suffix == ".whl":
        return _wheel(layout, path.resolve(), cache_dir)
    package = layout.find(path)
    listing = Listing(package)
    state = digest(listing.files)
    cache = Cache(cache_dir, package, "whole")
    known = cache.load(state)
    if known is not None:
        return known
    with patience(f"reading the source of {layout.package} once: {len(listing.files):,} files"):
        found = _with_uses(_declared(layout, package, cache_dir), layout, package, listing, cache_dir)
        cache.store(found, state)
    return found


def _wheel(layout: Layout, wheel: Path, cache_dir: Path | None) -> EngineKnobs:
    state = state_of(wheel.parent, (wheel.name,))
    cache = Cache(cache_dir, wheel, "wheel")
    known = cache.load(state)
    if known is not None:
        return known
    with unpacked(wheel) as folder:
        found = _whole(layout, folder, None)
    cache.store(found, state)
    return found


def _declared(layout: Layout, package: Path, cache_dir: Path | None) -> EngineKnobs:
    cache = Cache(cache_dir, package, "declared")
    known = cache.load()
    if known is not None:
        return known
    found, files = _read_declarations(layout, package)
    cache.store(found, state_of(package, files), files)
    return found


def _read_declarations(layout: Layout, package: Path) -> tuple[EngineKnobs, tuple[str, ...]]:
    # Imported here: a kept harvest needs none of it.
    from launcher.knobs.harvest.deprecations import legacy_prefixes
    from launcher.knobs.harvest.parser import ParserHarvest
    from launcher.knobs.harvest.registry import registry
    from launcher.knobs.harvest.source import SourceTree

    tree = SourceTree(package, name=layout.package)
    arguments = _required(tree.module(tree.name_of(layout.arguments)), tree.notes, package / layout.arguments)
    environ = None
    if layout.registry is not None and (package / layout.registry).exists():
        environ = _required(tree.module(tree.name_of(layout.registry)), tree.notes, package / layout.registry)
    env: Mapping[str, EnvKnob] = {} if environ is None else registry(tree, environ)
    try:
        parser = ParserHarvest(tree, arguments, layout.owner, {name: knob.default for name, knob in env.items()})
    except LookupError as error:
        raise InputError(
            f"{package / layout.arguments} declares no class {layout.owner}: no {layout.title} that is understood",
            hint="name another engine",
        ) from error
    parser.run()
    found = EngineKnobs(
        engine=layout.package,
        version=version_of(package),
        flags=parser.flags,
        env=env,
        legacy_prefixes={} if environ is None else legacy_prefixes(environ),
        notes=(*tree.notes, *parser.notes),
        whole=False,
    )
    return found, (*tree.asked, "_version.py", "version.py")


def _with_uses(
    declared: EngineKnobs, layout: Layout, package: Path, listing: Listing, cache_dir: Path | None
) -> EngineKnobs:
    from launcher.knobs.harvest.status import judged
    from launcher.knobs.harvest.sweep import joined

    found = joined(_swept(layout, package, listing, cache_dir))
    env = judged(declared.env, found)
    return replace(
        declared,
        env=env,
        dynamic=tuple(found.dynamic),
        mentions={name: place for name, place in sorted(found.mentions.items()) if name not in env},
        compiled=found.compiled,
        notes=tuple(dict.fromkeys((*declared.notes, *listing.notes, *found.notes))),
        whole=True,
    )


def _swept(layout: Layout, package: Path, listing: Listing, cache_dir: Path | None) -> dict[str, FileFacts]:
    """The sweep of the tree; what an earlier one read from files that are as they were is not read again."""
    from launcher.knobs.harvest.perfile import FileFacts, facts_of
    from launcher.knobs.harvest.sweep import sweep

    entry = Entry(cache_dir, package, "files")
    kept = entry.read() or {"stamps": {}, "files": {}}
    stamps = {file: stamp(stat) for file, stat in listing.files.items()}
    known = {file: facts_of(row) for file, row in kept["files"].items()}
    known |= {file: FileFacts() for file in kept["stamps"].keys() - known.keys()}
    unchanged = {file for file, known_stamp in kept["stamps"].items() if stamps.get(file) == known_stamp}
    found = sweep(package, layout.package, listing.files, known=known, unchanged=unchanged)
    entry.write(
        {"stamps": stamps, "files": {file: facts.row() for file, facts in found.items() if facts != FileFacts()}}
    )
    return found


def _required(module: Module | None, notes: list[Note], path: Path) -> Module:
    if module is None:
        reason = f":{notes[-1].place.line}: {notes[-1].text}" if notes else " is missing"
        raise InputError(
            f"{path}{reason}", hint="the engine could not start from it either; restore the file and try again"
        )
    return module
