"""Where an engine keeps what: how its package is recognised, and which files declare its flags and variables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import InputError


@dataclass(frozen=True, slots=True)
class Layout:
    """The shape of one engine's package; files are relative to the package."""

    package: str
    """Its import name."""
    title: str
    """What messages call it."""
    arguments: str
    """The file whose `owner` fills the argument parser."""
    owner: str
    registry: str | None
    """The file that declares the variables; an old version may lack it."""
    inside: tuple[str, ...]
    """Where the package lies in what an operator may name: itself, the folder around it, a checkout."""

    def find(self, path: Path) -> Path:
        """The package in `path`. Raises InputError where there is none, or only half of one."""
        wanted = f"name the folder that holds {self.package}/{self.arguments}"
        if not path.exists():
            raise InputError(f"{path} does not exist", hint=wanted)
        if not path.is_dir():
            raise InputError(f"{path} is a file and no wheel", hint=wanted)
        candidates = [(path / inside).resolve() for inside in self.inside]
        for package in candidates:
            if (package / self.arguments).is_file():
                return package
        for package in candidates:
            if package.name == self.package and (package / "__init__.py").is_file():
                raise InputError(
                    f"{package} is half {self.title}: {self.arguments} is missing, so its flags cannot be read",
                    hint="install it again, or name another engine",
                )
        raise InputError(f"{path} holds no {self.title}", hint=wanted)


SGLANG = Layout(
    "sglang", "SGLang", "srt/server_args.py", "ServerArgs", "srt/environ.py", (".", "sglang", "python/sglang")
)
ROUTER = Layout("sglang_router", "sglang-router", "router_args.py", "RouterArgs", None, (".", "sglang_router"))
GATEWAY = Layout("smg", "smg", "router_args.py", "RouterArgs", None, (".", "smg"))


def version_of(package: Path) -> str | None:
    """The version that the installer recorded beside the package, else the one that it states about itself."""
    recorded = [path.name for path in package.parent.glob(f"{package.name}-*.dist-info")]
    if len(recorded) == 1:
        return recorded[0].removeprefix(f"{package.name}-").removesuffix(".dist-info")
    for file in ("_version.py", "version.py"):
        try:
            text = (package / file).read_text("utf-8", errors="replace")
        except OSError:
            continue
        stated = re.search(r"^__version__\s*(?::[^=]+)?=(?:\s*\w+\s*=)*\s*['\"]([^'\"]+)['\"]", text, re.MULTILINE)
        if stated:
            return stated.group(1)
    return None
