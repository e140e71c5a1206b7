"""Run pip in the engine's environment: progress while it works, and one clear error when it fails."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import PdlaunchError

RETRY = "pdlaunch engine install cpu"
MAKE_ROOM = "make room (the engine takes 2.0 GB, its installation 2.4 GB)"
_TOLD = re.compile(r"\s*(Collecting|Downloading|Using cached|Installing collected|Uninstalling)\b.*")
_NOISE = re.compile(r"(WARNING|\[notice\]|DEPRECATION|Looking in|\s*$)")
_LAST, _WIDTH = 8, 160
"""Lines of pip's output that an error shows, and how much of each: pip lists every version there is."""
_UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectTimeout|name resolution|Network is unreachable|ReadTimeout|ProxyError"
)
# Where they are set, pip would install somewhere else than into the environment, or refuse to.
_ELSEWHERE = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_PYTHON", "PIP_REQUIREMENT", "PIP_DRY_RUN")


@dataclass(frozen=True, slots=True)
class Pip:
    """The pip of one environment."""

    python: Path
    log: Path
    """Gets everything that pip says."""
    scratch: Path
    """For pip's temporary files: gigabytes, which /tmp often has not."""
    lock: int
    """File descriptor of the installation's lock. pip holds it too: killed alone, pdlaunch leaves pip running, and a
    second installation must wait for that."""

    def install(self, requirements: Sequence[str], tell: Callable[[str], None]) -> None:
        """Install exactly these, without what they depend on; PdlaunchError says why it failed."""
        self._run(["install", "--no-deps", "--progress-bar", "off", *requirements], tell)

    def uninstall(self, names: Sequence[str], tell: Callable[[str], None]) -> None:
        """Remove these distributions."""
        self._run(["uninstall", "--yes", *names], tell)

    def _run(self, arguments: Sequence[str], tell: Callable[[str], None]) -> None:
        self.scratch.mkdir(exist_ok=True)
        command = [str(self.python), "-m", "pip", "--no-input", "--disable-pip-version-check", *arguments]
        said: list[str] = []
        with self.log.open("a") as log, self._start(command) as process:
            try:
                log.write(f"$ {' '.join(command)}\n")
                for line in process.stdout or ():
                    log.write(line)
                    said.append(line.rstrip())
                    if _TOLD.fullmatch(said[-1]):
                        tell(said[-1].strip())
            except BaseException:
                process.terminate()
                raise
        shutil.rmtree(self.scratch, ignore_errors=True)
        if process.returncode != 0:
            raise explain(said, process.returncode, self.log)

    def _start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            env=variables(os.environ, self.scratch),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            pass_fds=(self.lock,),
        )


def variables(inherited: Mapping[str, str], scratch: Path) -> dict[str, str]:
    """What pip runs with: the user's settings for index, proxy and certificates, but no other environment's Python."""
    kept = {k: v for k, v in inherited.items() if not k.startswith("PYTHON") and k not in _ELSEWHERE}
    return kept | {"TMPDIR": str(scratch), "PYTHONNOUSERSITE": "1"}


def explain(said: Sequence[str], code: int, log: Path) -> PdlaunchError:
    """Why pip failed, with its last lines and the command to type next."""
    text = "\n".join(said)
    telling = [line for line in said if not _NOISE.match(line)][-_LAST:]
    last = "\n".join("  " + textwrap.shorten(line, _WIDTH, placeholder=" ...") for line in telling)
    if "No space left on device" in text or "Disk quota exceeded" in text:
        free = shutil.disk_usage(log.parent).free / 1e9
        return _error(f"the disk is full: {free:.1f} GB free at {log.parent}", last, log, MAKE_ROOM)
    if _UNREACHABLE.search(text):
        return _error("pip cannot reach its package index", last, log, "check network, proxy and `pip config list`")
    if missing := re.search(r"No matching distribution found for (torch==\S+)", text):
        return _error(
            f"pip finds no {missing[1]}, the CPU build; without +cpu it would take the CUDA build and its libraries",
            last,
            log,
            "let pip find PyTorch's CPU wheels (PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS; the address is at "
            "https://pytorch.org/get-started/locally, compute platform CPU)",
        )
    return _error(f"pip failed with exit code {code}", last, log, None)


def _error(what: str, last: str, log: Path, first: str | None) -> PdlaunchError:
    return PdlaunchError(
        f"{what}\n{last}\n  all of it: {log}",
        hint=f"{first}, then go on: {RETRY}" if first else f"go on where it stopped: {RETRY}",
    )
