"""Run in a box: an operation that is killed at one of its changing calls, or counted. `python -m … POINT up PROFILE`.

POINT 0 counts: the number of points is printed. Else 1 says that the operation was killed there, 0 that it had ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from launcher.backends.systemd import Systemctl
from launcher.operations.confirming import confirm
from launcher.operations.down import down
from launcher.operations.rollback import rollback
from launcher.operations.up import up
from launcher.store import Store, layout

from ...deployments import Told
from ...unit.store.crash import Calls, count, killed_at

OUTSIDE: Calls = ((os, "kill"), (subprocess.Popen, "_execute_child"), (Systemctl, "__call__"))


def operation(name: str, subject: str) -> Callable[[], object]:
    """What to kill; `subject` is a profile, or a deployment, or a deployment and a generation."""
    if name == "up":
        return partial(up, Path(subject), Told())
    if name == "up-confirm":
        return partial(up, Path(subject), Told(), confirm=1800.0)
    deployment, _, number = subject.partition(":")
    store = Store(layout(deployment))
    if name == "rollback":
        return partial(rollback, store, int(number), Told())
    return partial(down, store, Told()) if name == "down" else partial(confirm, store, Told())


def main(point: int, name: str, subject: str) -> int:
    """The number of points, or whether it was killed at that one."""
    what = operation(name, subject)
    return killed_at(point, what, OUTSIDE) if point else count(what, OUTSIDE)


if __name__ == "__main__":
    print(int(main(int(sys.argv[1]), sys.argv[2], sys.argv[3])))  # noqa: T201
