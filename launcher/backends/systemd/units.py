"""The state of one service, from what was seen."""

from __future__ import annotations

import signal
import time
from collections.abc import Mapping

from launcher.backends.protocol import Unit, UnitState
from launcher.backends.systemd.scene import Scene

_STATES: Mapping[str, UnitState] = {
    "active": "running",
    "reloading": "running",
    "activating": "starting",
    "deactivating": "stopping",
    "inactive": "stopped",
    "failed": "exited",
}
_COULD_NOT = frozenset({"resources", "exec-condition", "protocol"})
"""Results of a start that never came to run the program."""
_SPAWN = range(200, 243)
"""Exit codes by which systemd says that it could not run the program: systemd.exec(5), "Process Exit Codes"."""
_EXITED = 1
"""CLD_EXITED of waitid(2); what is above ended by a signal."""


def unit(scene: Scene, name: str) -> Unit:
    """The state of `name`; true also where it runs outside its unit."""
    info, main = scene.infos.get(name), scene.main(name)
    if main is not None and not scene.supervised(main):
        return Unit(name, "running", main.pid, main.created, supervised=False)
    if info is None:
        return Unit(name, "unknown" if main else "stopped", main.pid if main else None)
    state = _state(info)
    return Unit(
        name=name,
        state=state,
        pid=scene.pid(name),
        since=main.created if main else _moment(info.get("StateChangeTimestampMonotonic", "0")),
        exit_status=_exit_status(info) if state in ("exited", "failed", "stopped", "backoff") else None,
        detail=_detail(info) if state in ("exited", "failed", "backoff") else None,
        restarts=int(info.get("NRestarts", "0")),
        wanted=state != "stopped",
    )


def _state(info: Mapping[str, str]) -> UnitState:
    state = _STATES.get(info["ActiveState"], "unknown")
    if state == "starting" and info.get("SubState", "").startswith("auto-restart"):
        return "backoff"
    return "failed" if state == "exited" and (info["Result"] in _COULD_NOT or _spawn(info)) else state


def _spawn(info: Mapping[str, str]) -> bool:
    return info.get("ExecMainCode") == str(_EXITED) and int(info.get("ExecMainStatus", "0")) in _SPAWN


def _exit_status(info: Mapping[str, str]) -> int | None:
    code = int(info.get("ExecMainCode", "0"))
    if code == 0:
        return None
    return int(info["ExecMainStatus"]) if code == _EXITED else -1


def _detail(info: Mapping[str, str]) -> str:
    """How it ended: ``terminated by SIGKILL``, ``exit 3``, and what systemd calls that."""
    result, status, code = info["Result"], int(info.get("ExecMainStatus", "0")), int(info.get("ExecMainCode", "0"))
    if code > _EXITED:
        how = f"terminated by {_name(status)}"
    elif _spawn(info):
        how = f"systemd could not run it (code {status}, see systemd.exec)"
    else:
        how = f"exit {status}" if code else "never ran"
    return how if result in ("exit-code", "signal", "success") else f"{how}; {result}"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _moment(microseconds: str) -> float | None:
    passed = int(microseconds)
    return time.time() - (time.clock_gettime(time.CLOCK_MONOTONIC) - passed / 1e6) if passed else None
