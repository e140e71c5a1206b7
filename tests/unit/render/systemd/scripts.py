"""The one-shots' scripts in a folder, with facts of their own and a systemctl that only answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from launcher.shipped import shipped

PROMPT = 600
_SYSTEMCTL = """\
#!/bin/bash
echo "$*" >> {folder}/asked
unit="${{@: -1}}"
[[ " $* " != *" show "* ]] || cat "{folder}/$unit" 2>/dev/null || exit 1
"""


class Scripts:
    """``ready.py`` and ``rejoin.py``, to be run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        for name in ("ready.py", "rejoin.py"):
            (folder / name).write_text((shipped("templates") / "systemd" / name).read_text())
        (folder / "bin/systemctl").write_text(_SYSTEMCTL.format(folder=folder))
        (folder / "bin/systemctl").chmod(0o755)
        self.facts: dict[str, Any] = {"deployment": "d", "state": str(folder), "prompt": PROMPT, "within": 20}
        self.facts |= {"patience": 1, "servers": [], "router": None, "keys": {}}

    def server(self, name: str, port: int, *, bootstrap: int | None = None, key: str | None = None) -> dict[str, Any]:
        """The facts of a server."""
        facts = {"name": name, "unit": f"pd-d-{name}.service", "role": name.rpartition("-")[0] or name}
        return {**facts, "host": "127.0.0.1", "port": port, "bootstrap": bootstrap, "key": key}

    def add(self, name: str, port: int, **more: Any) -> None:
        self.facts["servers"].append(self.server(name, port, **more))

    def unit(self, name: str, **properties: str) -> None:
        """What systemctl says of a unit."""
        (self.folder / f"pd-d-{name}.service").write_text("".join(f"{n}={v}\n" for n, v in properties.items()))

    def run(self, script: str = "ready.py", environment: Mapping[str, str] | None = None) -> tuple[int, str]:
        """Its exit status and what it said."""
        (self.folder / "ready.json").write_text(json.dumps(self.facts))
        done = subprocess.run(
            [sys.executable, "-E", "-s", "-B", str(self.folder / script)],
            env={"PATH": f"{self.folder}/bin:{os.environ['PATH']}", **(environment or {})},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stderr == ""
        return done.returncode, done.stdout

    def restarted(self) -> list[str]:
        """The units that it had restarted."""
        asked = self.folder / "asked"
        lines = asked.read_text().splitlines() if asked.exists() else []
        return [line.removeprefix("restart ") for line in lines if line.startswith("restart ")]
