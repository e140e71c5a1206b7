"""Environments and checkouts as folders of small files."""

from __future__ import annotations

import json
import sys
from pathlib import Path


def venv(prefix: Path, distributions: dict[str, str] | None = None, *, settings: str = "version = 3.11.7\n") -> Path:
    """A virtual environment with the metadata of these distributions; returns its package folder."""
    packages = prefix / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    (prefix / "lib64").symlink_to("lib")
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(sys.executable)
    (prefix / "pyvenv.cfg").write_text(f"home = /usr/bin\ninclude-system-site-packages = false\n{settings}")
    for name, version in (distributions or {}).items():
        distribution(packages, name, version)
    return packages


def distribution(packages: Path, name: str, version: str) -> Path:
    """The metadata folder of an installed distribution."""
    info = packages / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("")
    return info


def package(folder: Path, files: dict[str, str] | None = None) -> Path:
    """A Python package with these files."""
    folder.mkdir(parents=True)
    for name, text in {"__init__.py": "", **(files or {})}.items():
        (folder / name).write_text(text)
    return folder


def serving(prefix: Path) -> Path:
    """An environment that serves: SGLang for CUDA 13, NIXL and the router; returns its package folder."""
    packages = venv(
        prefix,
        {"sglang": "0.5.23", "torch": "2.14.1", "nixl_cu13": "1.5.1", "nixl": "1.5.1", "sglang_router": "0.3.2"},
    )
    package(packages / "sglang")
    package(packages / "torch", {"version.py": "__version__ = '2.14.1+cu130'\ncuda: Optional[str] = '13.0'\n"})
    return packages


def editable(packages: Path, name: str, version: str, project: Path) -> None:
    """A distribution that was installed with ``pip install -e``."""
    record = {"url": project.as_uri(), "dir_info": {"editable": True}}
    (distribution(packages, name, version) / "direct_url.json").write_text(json.dumps(record))
