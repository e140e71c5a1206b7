"""How much disk pdlaunch's own environment takes: python benchmarks/size.py. Installs into a new environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from measuring import REPOSITORY, own_home, table

_NOT_OURS = ("pip", "setuptools", "_distutils_hack", "pkg_resources", "distutils-precedence.pth")
"""What a virtual environment brings by itself."""


def main() -> None:
    with own_home() as home:
        subprocess.run([sys.executable, "-m", "venv", home / "venv"], check=True)
        install = (home / "venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        subprocess.run([*install, REPOSITORY], check=True)
        (packages,) = (home / "venv/lib").glob("python*/site-packages")
        parts = {p.name: _taken(p) for p in packages.iterdir() if p.name.partition("-")[0] not in _NOT_OURS}
    total = sum(parts.values())
    largest = sorted(parts.items(), key=lambda part: -part[1])[:6]
    rows = [("all of it", _mb(total)), *((name, _mb(size)) for name, size in largest)]
    print(table(("pdlaunch's own environment, without pip and setuptools", "on the disk"), rows))


def _taken(path: Path) -> int:
    if not path.is_dir():
        return path.stat().st_blocks * 512
    return sum((Path(at) / name).stat().st_blocks * 512 for at, _, names in os.walk(path) for name in names)


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


if __name__ == "__main__":
    main()
