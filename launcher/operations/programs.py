"""Starting the programs of a plan to see whether they do, and finding those that its services must find."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from launcher.doctor import Ran, Software
from launcher.engines.found import describe
from launcher.errors import InputError
from launcher.plan import DIGEST, MARK, Plan, Service
from launcher.render import Layout

_KIT = ("nvcc", "ninja", "gcc", "g++", "numactl", "nvidia-smi")
_ENGINE, _SOON = 180.0, 30.0
"""Seconds. The first import of an engine on a cold disk takes a minute; a router's a moment."""
_IMPORT = (
    "from sglang.srt.entrypoints.http_server import launch_server\n"
    "from importlib.metadata import version; print('sglang', version('sglang'))"
)
_ROUTER = (
    "try: from sglang_router import sglang_router_rs as r\n"
    "except ImportError: import sglang_router_rs as r\n"
    "from importlib.metadata import version; print('sglang-router', version('sglang-router'))"
)


def software(server: Service) -> Software | None:
    """The environment that serves; None where there is no SGLang in it, or it is not here."""
    prefix = Path(server.words()[0]).parents[1]
    try:
        found = describe(prefix)
    except InputError:
        return None
    nixl = {name: version for name, version in found.distributions.items() if name.startswith("nixl")}
    wheels = {name: v for name, v in found.distributions.items() if re.fullmatch(r"nvidia-.+-cu\d+", name)}
    return Software(str(prefix), found.torch, found.cuda, nixl, wheels)


def tools(server: Service) -> Mapping[str, str | None]:
    """Where the service's own PATH has each program of the build kit."""
    return {name: shutil.which(name, path=_path(server)) for name in _KIT}


def toolkit(server: Service) -> str | None:
    """``13.0``, of nvcc as the service would find it."""
    nvcc = shutil.which("nvcc", path=_path(server))
    if nvcc is None:
        return None
    with suppress(OSError, subprocess.SubprocessError):
        said = subprocess.run([nvcc, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
        match = re.search(r"release (\d+\.\d+)", said)
        return match[1] if match else None
    return None


def _path(server: Service) -> str:
    return next((variable.value for variable in server.env if variable.name == "PATH"), "")


def try_router(plan: Plan, layout: Layout) -> Ran | None:
    """Load the router's compiled part; None for a plan without a router."""
    service = plan.service("router")
    return _run(service, layout, _ROUTER, {}, _SOON) if service else None


def try_engine(server: Service, layout: Layout, sources: Path | None) -> Ran:
    """Import what a server imports, from the checkout at `sources` where there is one; up to a minute."""
    more = {"PYTHONPATH": str(sources)} if sources else {}
    return _run(server, layout, _IMPORT, more, _ENGINE)


def _run(service: Service, layout: Layout, code: str, more: Mapping[str, str], patience: float) -> Ran:
    """Run `code` with the service's Python and environment, but not as the service."""
    python = service.words()[0]
    env = {v.name: layout.value(v) for v in service.env if v.name not in (MARK, DIGEST)} | dict(more)
    began = time.monotonic()
    shown = f"{python} -c {shlex.quote(code.splitlines()[0].removeprefix('try: '))}"
    try:
        done = subprocess.run(
            [python, "-c", code],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience,
            cwd="/",
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Ran(shown, False, str(error), time.monotonic() - began)
    ok = done.returncode == 0
    lines = [line for line in (done.stdout if ok else done.stderr or done.stdout).splitlines() if line.strip()]
    said = lines[-1].strip() if lines else f"exit status {done.returncode}, and nothing was said"
    return Ran(shown, ok, said, time.monotonic() - began)
