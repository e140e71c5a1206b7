"""Where a deployment's files lie on this machine."""

from __future__ import annotations

from pathlib import Path

from launcher.frozen import Frozen
from launcher.plan.model import Root, Variable


class Layout(Frozen):
    """The folders of one deployment; all absolute.

    ``state/generations/37/`` holds generation 37, ``state/engine/DIGEST/`` an engine snapshot that generations share,
    ``state/logs/decode-0.log`` what a service printed, ``state/supervisord.conf`` what the daemon was told.
    """

    deployment: str
    state: Path
    """``STATE_DIR/DEPLOYMENT``: generations, engine snapshots, journal, pointers, logs."""
    cache: Path
    """Compiled kernels and bytecode, shared by deployments and never keyed by a profile."""
    run: Path
    """Sockets and pids: gone after a reboot, and short, since a UNIX socket's path holds 107 bytes."""

    @property
    def generations(self) -> Path:
        """The folder of all generations."""
        return self.state / "generations"

    def generation(self, number: int) -> Path:
        """The folder of one generation."""
        return self.generations / str(number)

    @property
    def engines(self) -> Path:
        """The folder of engine snapshots, one per digest."""
        return self.state / "engine"

    @property
    def bytecode(self) -> Path:
        """What Python compiles of engine snapshots, one folder per digest."""
        return self.cache / "bytecode"

    @property
    def logs(self) -> Path:
        """The folder of the services' logs."""
        return self.state / "logs"

    def log(self, service: str) -> Path:
        """What `service` printed."""
        return self.logs / f"{service}.log"

    def value(self, variable: Variable) -> str:
        """The text that the process receives for `variable`."""
        return variable.value if variable.root is None else str(self._root(variable.root) / variable.value)

    def _root(self, root: Root) -> Path:
        return {"state": self.state, "cache": self.cache, "run": self.run}[root]
