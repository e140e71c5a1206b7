"""Which services run, whoever started them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from launcher.backends.processes import Proc
from launcher.observe.running import named_workers, running
from launcher.plan import DIGEST
from launcher.plan.model import MARK

from ...deployments import until


def marked(state: Path, name: str, **environment: str) -> subprocess.Popen[bytes]:
    env: Mapping[str, str] = {MARK: str(state / name), **environment}
    process = subprocess.Popen(["/bin/sleep", "60"], env=dict(env))
    until(lambda: Path(f"/proc/{process.pid}/cmdline").read_bytes().startswith(b"/bin/sleep"))
    return process


def test_services_are_told_from_each_other_and_from_other_deployments(tmp_path: Path) -> None:
    state = tmp_path / "tiny"
    processes = [
        marked(state, "decode-0", **{DIGEST: "d1"}),
        marked(state, "decode-0", **{DIGEST: "d1"}),
        marked(state, "prefill-0"),
        marked(state, "supervisord"),
        marked(tmp_path / "tiny-too", "decode-0"),
    ]
    try:
        found = running(state)
        assert found.keys() == {"decode-0", "prefill-0"}
        assert (found["decode-0"].digest, found["prefill-0"].digest) == ("d1", None)
        assert {p.pid for p in found["decode-0"].processes} == {processes[0].pid, processes[1].pid}
        assert found["decode-0"].main.created <= found["decode-0"].processes[1].created
        assert running(tmp_path / "nobody") == {}
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert running(state) == {}


def test_a_worker_is_what_sglang_named_and_no_fork_of_it() -> None:
    def proc(pid: int, parent: int, *cmdline: str) -> Proc:
        return Proc(pid=pid, ppid=parent, pgid=1, started=pid, service=None, cmdline=cmdline)

    procs = [
        proc(10, 1, "python", "-m", "sglang.launch_server"),
        proc(11, 10, "sglang::data_parallel_controller"),
        proc(12, 11, "sglang::scheduler_DP0"),
        proc(13, 10, "sglang::detokenizer"),
        proc(14, 12, "sglang::scheduler_DP0"),  # between fork and exec
        proc(15, 12, "nvcc"),
        proc(16, 10, "python", "-c", "from multiprocessing.spawn import spawn_main"),
    ]
    found = named_workers(procs[1:], {p.pid: p for p in procs})
    assert [p.pid for p in found] == [11, 12, 13]
