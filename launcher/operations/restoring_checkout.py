"""`rollback --restore-checkout`: the user's checkout as it was then; what it holds now is kept first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from launcher.engines.checkout import package_in
from launcher.engines.manifest import manifest
from launcher.engines.snapshot import read_manifest, snapshot
from launcher.errors import InputError
from launcher.operations.facts import simulator_roots
from launcher.store import Event, Generation, Store
from launcher.store.files import in_words, replace


@dataclass(frozen=True, slots=True)
class Restored:
    """What was done to a checkout."""

    checkout: str
    captured: Path
    """Where its content from before lies."""
    written: tuple[str, ...]
    removed: tuple[str, ...]


def restore_checkout(store: Store, generation: Generation, *, by: str, why: str | None) -> Restored:
    """Make the checkout of `generation` hold what its snapshot holds; to be called by the writer.

    Raises InputError for a generation without a checkout, or whose checkout is no longer there.
    """
    source = generation.plan.engine.source
    digest = generation.seal.engine
    if source is None or digest is None:
        raise InputError(f"generation {generation.number} ran no checkout", hint="leave out --restore-checkout")
    roots = _roots(source, generation.plan.engine.kind)
    place = store.layout
    hashes = place.cache / f"hashes-{place.deployment}.json"
    kept = snapshot(roots, place.state / "captured", cache=hashes)
    then, now = read_manifest(place.engines, digest).files, manifest(roots, cache=hashes).files
    written = tuple(name for name, entry in then.items() if now.get(name) != entry)
    removed = tuple(name for name in now if name not in then)
    with in_words("restore the checkout", Path(source)):
        for name in written:
            _write(place.engines / digest / name, _target(roots, name))
        for name in removed:
            _target(roots, name).unlink()
    counts = {"written": len(written), "removed": len(removed)}
    details: dict[str, JsonValue] = {"checkout": source, "captured": kept.digest, **counts}
    store.journal.append(Event(what="restored", by=by, why=why, generation=generation.number, details=details))
    return Restored(source, kept.path, written, removed)


def _roots(source: str, kind: str) -> dict[str, Path]:
    if not Path(source).exists():
        raise InputError(f"the checkout {source} is not there any more", hint="leave out --restore-checkout")
    if kind == "simulator":
        return simulator_roots(source)
    package = package_in(Path(source))
    if package is None:
        raise InputError(f"{source} holds no SGLang any more", hint="leave out --restore-checkout")
    return {"sglang": package}


def _target(roots: dict[str, Path], name: str) -> Path:
    root = max((r for r in roots if name == r or name.startswith(f"{r}/")), key=len)
    return roots[root] / name[len(root) + 1 :] if name != root else roots[root]


def _write(kept: Path, target: Path) -> None:
    """The file as it was, writable for its owner as a checkout's files are."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if kept.is_symlink():
        target.unlink(missing_ok=True)
        target.symlink_to(kept.readlink())
        return
    replace(target, kept.read_bytes())
    target.chmod(kept.stat().st_mode | 0o200)
