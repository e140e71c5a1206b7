"""What a folder of SGLang's source says about itself, read from its files and from git's."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

_WRITTEN = re.compile(r"""^__version__\s*(?::[^=]+)?=\s*(?:version\s*=\s*)?["']([^"']+)["']""", re.MULTILINE)
_UNBUILT = "0.0.0.dev0"
"""What SGLang calls a source tree whose version nobody wrote down (its version.py)."""


def package_in(folder: Path) -> Path | None:
    """The SGLang package of a checkout: below ``python/`` as in the repository, or directly in `folder`."""
    places = (folder / "python" / "sglang", folder / "sglang")
    return next((place for place in places if (place / "__init__.py").is_file()), None)


def source_version(package: Path) -> str:
    """The version of a package folder that no distribution vouches for.

    From ``_version.py``, which its build writes, or ``version.py`` of older ones; else from git's tags as
    setuptools-scm would name it, and ``0.0.0.dev0`` where there is no tag either.
    """
    for name in ("_version.py", "version.py"):
        path = package / name
        if path.is_file() and (match := _WRITTEN.search(path.read_text(errors="replace"))):
            return match[1]
    return (_from_tags(package) if head(package) else None) or _UNBUILT


def head(package: Path) -> str | None:
    """The commit that the checkout of this package is at, without starting git; None where it is no git checkout.

    Looked for one and two levels up, where `package_in` finds packages; a repository further up is another one.
    """
    for place in package.parents[:2]:
        if (place / ".git").exists():
            return _commit(_git_folder(place / ".git"))
    return None


def _git_folder(marker: Path) -> Path:
    """``.git`` itself; in a worktree or submodule, the folder that the file of this name points to."""
    if marker.is_dir():
        return marker
    return marker.parent / marker.read_text().removeprefix("gitdir:").strip()


def _commit(git: Path) -> str | None:
    if not (git / "HEAD").is_file():
        return None
    text = (git / "HEAD").read_text().strip()
    if not text.startswith("ref:"):
        return text
    ref = text.removeprefix("ref:").strip()
    shared = git / (git / "commondir").read_text().strip() if (git / "commondir").is_file() else git
    for folder in (git, shared):
        if (folder / ref).is_file():
            return (folder / ref).read_text().strip()
    packed = shared / "packed-refs"
    lines = packed.read_text().splitlines() if packed.is_file() else []
    return next((line.split()[0] for line in lines if line.endswith(f" {ref}")), None)


def _from_tags(package: Path) -> str | None:
    """``v0.5.23-12-gabc`` of ``git describe`` as ``0.5.23.post12+gabc``."""
    command = ["git", "-C", str(package), "describe", "--tags", "--match", "v*", "--long", "--abbrev=9"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    tag, distance, commit = answer.stdout.strip().removeprefix("v").rsplit("-", 2)
    return tag if distance == "0" else f"{tag}.post{distance}+{commit}"
