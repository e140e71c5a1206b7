"""Writing a generation: everything under a temporary name, forced to the disk, then one rename."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from launcher.plan.model import Plan
from launcher.render.bundle import Bundle
from launcher.render.layout import Layout
from launcher.store.files import TEMPORARY, remove_tree, sync_folder, write
from launcher.store.generation import ABOUT, ENGINE, LOCK, OWN_NAMES, PLAN, PROFILE, SEAL, About, Seal
from launcher.store.identity import canonical, plan_digest, service_digests


def write_generation(
    layout: Layout,
    about: About,
    *,
    profile: bytes,
    plan: Plan,
    bundle: Bundle,
    snapshot: str | None,
    lock: Callable[[About], str] | None = None,
) -> str:
    """Put generation ``about.number`` in place and return the SHA-256 of its seal.

    Killed at any point it leaves nothing or a ``NUMBER.tmp``; raising it leaves nothing.

    Raises:
        OSError: the system refuses a write.
        ValueError: a rendered file has a name that leaves the folder or belongs to the store.
    """
    texts: dict[str, tuple[bytes, int]] = {
        PROFILE: (profile, 0o444),
        PLAN: (canonical(plan.model_dump(mode="json")).encode(), 0o444),
        ABOUT: (canonical(about.model_dump(mode="json")).encode(), 0o444),
        **({LOCK: (lock(about).encode(), 0o444)} if lock else {}),
        **{_safe(name): (f.text.encode(), 0o555 if f.mode & 0o111 else 0o444) for name, f in bundle.files.items()},
    }
    seal = Seal(
        files={name: hashlib.sha256(content).hexdigest() for name, (content, _) in sorted(texts.items())},
        engine=snapshot,
        services=service_digests(plan, snapshot),
        digest=plan_digest(plan, snapshot),
    )
    sealed = canonical(seal.model_dump(mode="json")).encode()
    final = layout.generation(about.number)
    building = final.with_name(final.name + TEMPORARY)
    try:
        _fill(building, {**texts, SEAL: (sealed, 0o444)}, snapshot)
        building.rename(final)
    except OSError:
        remove_tree(building)
        raise
    sync_folder(final.parent)
    return hashlib.sha256(sealed).hexdigest()


def _fill(building: Path, texts: Mapping[str, tuple[bytes, int]], snapshot: str | None) -> None:
    remove_tree(building)
    folders = sorted({building / parent for name in texts for parent in PurePosixPath(name).parents})
    for folder in folders:
        folder.mkdir()
    for name, (content, mode) in texts.items():
        write(building / name, content, mode)
    if snapshot is not None:
        (building / ENGINE).symlink_to(f"../../engine/{snapshot}")
    for folder in reversed(folders):
        folder.chmod(0o555)
        sync_folder(folder)


def _safe(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or path.parts[0] in OWN_NAMES:
        raise ValueError(f"a rendered file cannot be called {name!r}")
    return str(path)
