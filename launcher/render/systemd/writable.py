"""What a service may write: everything else is read-only for it, as ``ProtectSystem=strict`` has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from launcher.plan.model import Plan, Service
from launcher.render.layout import Layout

_SYSTEM = tuple(map(PurePosixPath, ("/usr", "/etc", "/opt", "/lib", "/lib64", "/bin", "/sbin", "/boot")))
"""Never opened for writing because a value names a path there."""
_KERNEL = tuple(map(PurePosixPath, ("/dev", "/proc", "/sys")))
"""Left alone by ``ProtectSystem=strict``."""
_TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108  the host's own


def writable(plan: Plan, service: Service, layout: Layout) -> tuple[str, ...]:
    """Absolute paths: the temporary folders, the cache, HOME, and what a flag or variable of the service names.

    The model and the program are not among them.
    """
    found = dict.fromkeys((*_TEMPORARY, str(layout.cache)))
    read_only = (PurePosixPath(plan.model_path), PurePosixPath(service.words()[0]), PurePosixPath(layout.generations))
    for text in _named(service):
        path = PurePosixPath(text)
        if path != PurePosixPath("/") and not _below(path, (*_SYSTEM, *_KERNEL, *read_only)):
            found[str(path)] = None
    roots = [PurePosixPath(path) for path in found]
    return tuple(p for p in found if not _below(PurePosixPath(p), [r for r in roots if str(r) != p]))


def _named(service: Service) -> Iterator[str]:
    """Absolute paths among the values; a list of paths is something to be read from."""
    values = [v.value for v in service.env if v.root is None]
    values += [word.partition("=")[2] if word.startswith("--") else word for word in service.words()[1:]]
    yield from (value for value in values if value.startswith("/") and ":" not in value)


def _below(path: PurePosixPath, folders: tuple[PurePosixPath, ...] | list[PurePosixPath]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)
