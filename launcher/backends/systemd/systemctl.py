"""systemctl: the manager that root or a user talks to, and its refusals in its own words."""

from __future__ import annotations

import getpass
import os
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import InputError, PdlaunchError

_PATIENCE = 60.0
"""Seconds for a call that waits for no service."""
_BOOTED = Path("/run/systemd/system")
"""Is there where systemd is the system manager: sd_booted(3)."""


@dataclass(frozen=True, slots=True)
class Systemctl:
    """One manager: the system's, or with `user` the caller's own."""

    user: bool

    @property
    def units(self) -> Path:
        """Where an administrator's units of this manager lie, before all others but transient ones: systemd.unit(5)."""
        if not self.user:
            return Path("/etc/systemd/system")
        config = os.environ.get("XDG_CONFIG_HOME", "")
        return (Path(config) if config.startswith("/") else Path.home() / ".config") / "systemd/user"

    @property
    def boot_target(self) -> str:
        """What wants everything that is to start by itself."""
        return "default.target" if self.user else "multi-user.target"

    @property
    def reachable(self) -> bool:
        """Whether the manager runs and answers this user."""
        if not self.user:
            return _BOOTED.is_dir()
        run = os.environ.get("XDG_RUNTIME_DIR")
        return bool(run) and (Path(str(run)) / "systemd/private").exists()

    @property
    def lingers(self) -> bool:
        """Whether a user's manager is there from boot on, and stays when the user leaves."""
        return Path("/var/lib/systemd/linger", getpass.getuser()).exists()

    def require(self) -> None:
        """Raise InputError, saying what to do, where the manager cannot be reached."""
        if self.reachable:
            return
        if not self.user:
            raise InputError("systemd does not run this machine", hint="pdlaunch up PROFILE --backend supervisord")
        if not os.environ.get("XDG_RUNTIME_DIR"):
            raise InputError(
                "your own systemd cannot be reached: XDG_RUNTIME_DIR is not set, as after su",
                hint=f"export XDG_RUNTIME_DIR=/run/user/{os.geteuid()} (once: loginctl enable-linger), "
                "or use --backend supervisord",
            )
        raise InputError(
            f"your own systemd does not run: nothing answers in {os.environ['XDG_RUNTIME_DIR']}",
            hint="loginctl enable-linger keeps it running; or use --backend supervisord",
        )

    def __call__(self, *words: str, patience: float = _PATIENCE, refused: Collection[int] = ()) -> str:
        """What `systemctl WORDS` prints; exit codes in `refused` are taken for an answer.

        Raises PdlaunchError with systemctl's own words.
        """
        command = ["systemctl", *(["--user"] if self.user else []), "--no-ask-password", "--no-pager", *words]
        try:
            done = subprocess.run(
                command,
                env={**os.environ, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=patience,
                check=False,
            )
        except FileNotFoundError:
            raise PdlaunchError(
                "there is no systemctl here", hint="install systemd, or use --backend supervisord"
            ) from None
        except subprocess.TimeoutExpired:
            raise PdlaunchError(
                f"`{' '.join(command)}` took longer than {patience:g} s",
                hint="see what it waits for: systemctl list-jobs",
            ) from None
        if done.returncode and done.returncode not in refused:
            said = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
            raise PdlaunchError(f"`{' '.join(command)}` failed: {said}", hint=_hint(said, words, user=self.user))
        return done.stdout

    def show(self, names: Collection[str], properties: Collection[str]) -> Mapping[str, Mapping[str, str]]:
        """The properties of each unit, all in one call; a unit that is not there has LoadState ``not-found``."""
        if not names:
            return {}
        text = self("show", f"--property=Id,{','.join(properties)}", "--", *names)
        blocks = [dict(_pair(line) for line in block.splitlines()) for block in text.strip().split("\n\n")]
        return {block["Id"]: block for block in blocks if "Id" in block}


def manager() -> Systemctl:
    """Whose systemd this process drives: root the system's, others their own."""
    return Systemctl(user=os.geteuid() != 0)


def _pair(line: str) -> tuple[str, str]:
    name, _, value = line.partition("=")
    return name, value


def _hint(said: str, words: Collection[str], *, user: bool) -> str:
    if "Access denied" in said or "authentication required" in said.lower():
        return "run the same as root"
    unit = next((word for word in reversed(list(words)) if "." in word), "")
    return f"journalctl {'--user ' if user else ''}-e{f' -u {unit}' if unit else ''}"
