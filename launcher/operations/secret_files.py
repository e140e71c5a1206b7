"""The files that services read their secrets from: looked at before anything is stopped for a start that needs them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from launcher.errors import InputError
from launcher.plan import Secret, Service


def require_secrets(services: Iterable[Service]) -> None:
    """Raise InputError with every secret that `services` could not read, or that everybody could."""
    found = troubles(services)
    if found:
        lines = "\n".join(f"{secret.origin}  secret {secret.name}: {secret.file} {what}" for secret, what, _ in found)
        raise InputError(lines, hint=found[0][2])


def troubles(services: Iterable[Service]) -> tuple[tuple[Secret, str, str], ...]:
    """Each secret whose file does not serve, what is wrong with it, and what to type; no file is read."""
    secrets = {secret.file: secret for service in services for secret in service.secrets}
    judged = ((secret, _trouble(Path(file))) for file, secret in secrets.items())
    return tuple((secret, *trouble) for secret, trouble in judged if trouble)


def _trouble(file: Path) -> tuple[str, str] | None:
    write = f"put the value there: install -m 600 /dev/stdin {file}"
    try:
        status = file.stat()
    except FileNotFoundError:
        return "is not there", write
    except OSError as error:
        return f"cannot be read: {error.strerror}", f"ls -l {file}"
    if not stat.S_ISREG(status.st_mode):
        return "is no file", write
    if not status.st_size:
        return "is empty", write
    if status.st_mode & stat.S_IRWXO:
        return "can be read by everybody", f"chmod 600 {file}"
    return None if os.access(file, os.R_OK) else ("cannot be read by you", f"ls -l {file}")
