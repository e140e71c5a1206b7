"""A machine of its own with a real systemd: booted, rebooted, and commands run in it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...deployments import PDLAUNCH, until

SCRIPT = Path(__file__).with_name("box.sh")


@dataclass(slots=True)
class Box:
    """One box; `environment` is added to that of every command in it."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    writable: Sequence[Path] = ()
    """Folders beside /tmp that commands in it may write to."""

    def boot(self) -> None:
        """Power on."""
        self._script("up")

    def shut_down(self) -> None:
        """Power off, as an operator would; /run and everything that ran is gone."""
        self._script("down")

    def reboot(self) -> None:
        """Off and on again."""
        self.shut_down()
        self.boot()

    def run(
        self, *words: str | Path, check: bool = True, timeout: float = 180, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """One command in it, without a terminal; with `check` it has to succeed."""
        done = self._script("exec", *map(str, words), check=False, timeout=timeout, environment=environment)
        assert not check or done.returncode == 0, f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def pdlaunch(
        self, *words: str | Path, check: bool = True, timeout: float = 180
    ) -> subprocess.CompletedProcess[str]:
        """One command line of pdlaunch."""
        return self.run(PDLAUNCH, *words, check=check, timeout=timeout)

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        """A command in it, not waited for."""
        return subprocess.Popen(
            self._command("exec", *map(str, words)),
            env=self._environment(None),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def systemctl(self, *words: str, check: bool = True) -> str:
        """What systemctl prints."""
        return self.run("systemctl", "--no-pager", *words, check=check).stdout.strip()

    def show(self, unit: str, name: str) -> str:
        """One property of a unit."""
        return self.systemctl("show", "--value", f"--property={name}", unit)

    def pid(self, unit: str) -> int:
        """The main process of a unit, as it is called in there."""
        return int(self.show(unit, "MainPID"))

    def journal(self, *words: str) -> list[str]:
        """The texts of the journal, oldest first."""
        return self.run("journalctl", "--no-pager", "--output=cat", *words).stdout.splitlines()

    def active(self) -> set[str]:
        """The units of deployments that run or are on their way."""
        states = "--state=active,activating,deactivating,reloading"
        lines = self.systemctl("list-units", "--plain", "--no-legend", states, "pd-*").splitlines()
        return {line.split()[0] for line in lines}

    def until_active(self, unit: str) -> None:
        """Wait until a unit is up."""
        until(lambda: self.show(unit, "ActiveState") == "active", f"{unit} is active", seconds=60)

    def _script(
        self,
        act: str,
        *words: str,
        check: bool = True,
        timeout: float = 180,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(act, *words),
            env=self._environment(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=check,
        )

    def _command(self, act: str, *words: str) -> list[str]:
        return [str(SCRIPT), act, str(self.folder), *(["--", *words] if words else [])]

    def _environment(self, more: Mapping[str, str] | None) -> dict[str, str]:
        places = {"BOX_RW": " ".join(map(str, self.writable))}
        return {**os.environ, **places, **self.environment, **(more or {})}
