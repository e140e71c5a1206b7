"""What a Python environment holds, read from its files; a virtual environment's interpreter is not even started."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from launcher.errors import InputError

_INFO = re.compile(r"(?P<name>.+?)-(?P<version>[^-]+)\.(?:dist|egg)-info")
_ASK = "import json, site, sys; print(json.dumps([sys.version.split()[0], site.getsitepackages()]))"


class Distribution(NamedTuple):
    """One installed distribution."""

    version: str
    info: Path
    """Its metadata folder."""


@dataclass(frozen=True)
class Environment:
    """A Python interpreter and the folders that its packages lie in, in the order in which it searches them."""

    python: Path
    version: str
    """Of Python: ``3.11.7``."""
    folders: tuple[Path, ...]

    @cached_property
    def distributions(self) -> Mapping[str, Distribution]:
        """Every distribution by its normalised name, sorted; the folder searched first wins."""
        found: dict[str, Distribution] = {}
        for folder in self.folders:
            for path in folder.iterdir() if folder.is_dir() else ():
                if match := _INFO.fullmatch(path.name):
                    found.setdefault(normalised(match["name"]), Distribution(match["version"], path))
        return dict(sorted(found.items()))

    def version_of(self, *names: str) -> str | None:
        """The version of the first of these distributions that is installed."""
        return next((self.distributions[name].version for name in names if name in self.distributions), None)

    def find(self, relative: str) -> Path | None:
        """The first `relative` in a package folder."""
        return next((path for folder in self.folders if (path := folder / relative).exists()), None)

    def editable(self, name: str) -> Path | None:
        """The project folder of a distribution that was installed with ``pip install -e``."""
        record = self.distributions[name].info / "direct_url.json" if name in self.distributions else None
        if record is None or not record.is_file():
            return None
        try:
            origin = json.loads(record.read_bytes())
            url = urlsplit(origin["url"])
            is_editable = url.scheme == "file" and origin.get("dir_info", {}).get("editable")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{record} is damaged: {error}", hint=f"install {name} again") from error
        return Path(unquote(url.path)) if is_editable else None


def normalised(name: str) -> str:
    """A distribution's name in the form that compares: https://packaging.python.org/en/latest/specifications/name-normalization/."""
    return re.sub(r"[-_.]+", "-", name).lower()


def environment_at(prefix: Path) -> Environment | None:
    """The environment with this prefix: a virtual environment, or an interpreter's own; None where there is neither.

    Raises:
        InputError: half an environment is there: an interpreter that is gone or does not start, or no package folder.
    """
    python = _interpreter(prefix)
    settings = _settings(prefix / "pyvenv.cfg")
    if python is None:
        if settings is None:
            return None
        raise _half(prefix, "has a pyvenv.cfg but no bin/python")
    if not python.exists():
        raise _half(prefix, f"runs {python.readlink()}, which is gone")
    if settings is None:
        version, folders = _ask(python)
        return Environment(python, version, folders)
    folders = tuple(_package_folders(prefix))
    if not folders:
        raise _half(prefix, "has no lib/python*/site-packages")
    if settings.get("include-system-site-packages", "").lower() == "true":
        folders += _ask(Path(settings["home"]) / "python3")[1]
    # `venv` writes version, virtualenv and uv write version_info.
    version = settings.get("version") or settings.get("version_info") or folders[0].parent.name.removeprefix("python")
    return Environment(python, version, folders)


def _interpreter(prefix: Path) -> Path | None:
    candidates = (prefix / "bin" / name for name in ("python", "python3"))
    return next((path for path in candidates if os.path.lexists(path)), None)


def _settings(config: Path) -> dict[str, str] | None:
    """The ``key = value`` lines of a pyvenv.cfg, keys in lower case."""
    if not config.is_file():
        return None
    pairs = (line.partition("=") for line in config.read_text(errors="replace").splitlines() if "=" in line)
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def _package_folders(prefix: Path) -> Iterator[Path]:
    for path in sorted(prefix.glob("lib*/python3*/site-packages")):
        if not path.parents[1].is_symlink():  # lib64 is often lib once more
            yield path


def _ask(python: Path) -> tuple[str, tuple[Path, ...]]:
    """Version and package folders of an interpreter that is in no virtual environment: only it knows its layout."""
    command = [str(python), "-I", "-S", "-c", _ASK]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"{python} does not start: {error}", hint=f"try: {python} --version") from error
    version, folders = json.loads(answer.stdout)
    return version, tuple(path for text in folders if (path := Path(text)).is_dir())


def _half(prefix: Path, what: str) -> InputError:
    return InputError(f"{prefix} is half an environment: it {what}", hint="make it anew, or name another one")
