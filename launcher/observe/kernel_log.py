"""The kernel's own words of the last hour: a card that fell off the bus, memory that ran out."""

from __future__ import annotations

import subprocess

_LINES = 300
_COMMANDS = (
    ("journalctl", "-k", "-n", str(_LINES), "--no-pager", "-o", "short-iso"),
    ("dmesg", "--time-format", "iso"),
)


def kernel_log() -> str:
    """The last lines, by whoever may read them; why not where nobody may."""
    told = []
    for command in _COMMANDS:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            told.append(f"{command[0]}: {error}")
            continue
        lines = [line for line in done.stdout.splitlines() if line and not line.startswith("-- ")]
        if done.returncode == 0 and lines:
            return "\n".join(lines[-_LINES:])
        told.append(f"{command[0]}: {done.stderr.strip() or 'it has nothing'}")
    return "\n".join(told)
