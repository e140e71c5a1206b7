"""Opens a wheel for reading: its sources in a folder for a while."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launcher.errors import InputError
from launcher.knobs.harvest.files import COMPILED, NATIVE, PYTHON

_MOST_BYTES = 2_000_000_000  # ten times SGLang's sources; a wheel that unpacks to more is not one of those


@contextmanager
def unpacked(wheel: Path) -> Iterator[Path]:
    """A temporary folder with the sources in `wheel`. Raises InputError for a file that cannot be unpacked."""
    with tempfile.TemporaryDirectory(prefix="pdlaunch-wheel-") as folder:
        try:
            with zipfile.ZipFile(wheel) as archive:
                chosen = [
                    each
                    for each in archive.infolist()
                    if each.filename.endswith((PYTHON, *NATIVE, COMPILED, "/METADATA"))
                ]
                if sum(each.file_size for each in chosen) > _MOST_BYTES:
                    raise InputError(f"{wheel} unpacks to more than {_MOST_BYTES:,} bytes of source")
                archive.extractall(folder, chosen)
        except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as error:
            raise InputError(f"{wheel} cannot be unpacked: {error}", hint="download it again") from error
        yield Path(folder)
