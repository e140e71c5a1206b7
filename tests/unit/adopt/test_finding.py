from __future__ import annotations

from pathlib import Path

import pytest

from launcher.adopt import choose, deployment_name, deployments, find, names
from launcher.errors import InputError
from launcher.plan import MARK

from .proc_trees import Proc

PYTHON = "/opt/venv/bin/python"
SERVER = [PYTHON, "-m", "sglang.launch_server", "--model-path", "/models/V4-Flash"]
PREFILL = [*SERVER, "--disaggregation-mode", "prefill", "--port", "30000", "--tp", "4"]
DECODE = [*SERVER, "--disaggregation-mode=decode", "--port=30001", "--tp-size", "4", "--base-gpu-id", "4"]
ROUTER = [
    PYTHON, "-m", "sglang_router.launch_router", "--pd-disaggregation", "--port", "8000",
    "--prefill", "http://10.0.0.1:30000", "8998", "--decode", "http://10.0.0.1:30001",
]  # fmt: skip


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path / "proc")


def box(proc: Proc) -> None:
    proc.add(100, PREFILL, environ={"A": "1"})
    proc.add(101, ["sglang::scheduler"], ppid=100, cmdline=b"sglang::scheduler_TP0\0\0\0")
    proc.add(102, [PYTHON, "-c", "from multiprocessing.spawn import spawn_main"], ppid=101)
    proc.add(110, DECODE, environ={"B": "2"})
    proc.add(120, ROUTER, environ={"C": "3"})
    proc.listen(100, 30000)
    proc.listen(101, 41234)
    proc.listen(110, 30001)


def test_main_processes_with_their_trees_prefill_first_and_the_router_last(proc: Proc) -> None:
    box(proc)
    found = find(proc=proc.root)
    assert [(f.role, f.process.pid, f.port) for f in found] == [
        ("prefill", 100, 30000),
        ("decode", 110, 30001),
        ("router", 120, 8000),
    ]
    prefill, decode, _ = found
    assert [p.pid for p in prefill.tree] == [100, 101, 102]
    assert prefill.listens == (30000, 41234)
    assert prefill.ports == {"http": 30000, "bootstrap": 8998}
    assert (prefill.gpus, decode.gpus) == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert prefill.environ == {"A": "1"}
    assert prefill.process.started == 10000
    assert prefill.born == 1700000000 + 100
    assert names(found) == ("prefill-0", "decode-0", "router")


def test_visible_cards_are_counted_as_the_driver_does(proc: Proc) -> None:
    proc.add(100, [*SERVER, "--tp", "2", "--base-gpu-id", "1"], environ={"CUDA_VISIBLE_DEVICES": "2,5,7"})
    proc.add(101, [*SERVER, "--port", "1", "--device", "cpu", "--tp", "2"], environ={"A": "1"})
    gpus = {f.port: f.gpus for f in find(proc=proc.root)}
    assert gpus == {30000: (5, 7), 1: ()}


@pytest.mark.parametrize(
    ("words", "head"),
    [
        (SERVER, 3),
        (["python3.12", "-u", "-X", "dev", "-m", "sglang.launch_server", "--port", "1"], 6),
        ([PYTHON, "/opt/sglang/python/sglang/launch_server.py", "--port", "1"], 2),
        ([PYTHON, "/opt/venv/bin/sglang", "serve", "--port", "1"], 3),
        (["/opt/venv/bin/sglang", "serve", "--port", "1"], 2),
        ([PYTHON, "-m", "launcher.simulator", "--port", "1"], 3),
        ([PYTHON, "/opt/venv/bin/smg", "launch", "--port", "1"], 3),
        (["/usr/bin/sglang-router", "--port", "1"], 1),
        (["/usr/bin/sglang-router", "launch", "--port", "1"], 2),
    ],
)
def test_what_counts_as_a_server(proc: Proc, words: list[str], head: int) -> None:
    proc.add(100, words, environ={"A": "1"})
    (found,) = find(proc=proc.root)
    assert (found.program.head, found.refused) == (head, None)


@pytest.mark.parametrize(
    "words",
    [
        ["/bin/bash", "-c", "python -m sglang.launch_server --port 1"],
        ["tmux", "new-session", "-d", "python", "-m", "sglang.launch_server"],
        ["timeout", "9", "python", "-m", "sglang.launch_server"],
        ["vim", "/opt/sglang/launch_server.py"],
        [PYTHON, "-c", "import sglang.launch_server"],
        [PYTHON, "-m", "sglang.bench_serving"],
        [PYTHON, "/opt/venv/bin/sglang", "--help"],
        [PYTHON, "-m"],
        [PYTHON],
    ],
)
def test_what_only_mentions_one_does_not_count(proc: Proc, words: list[str]) -> None:
    proc.add(100, words, environ={"A": "1"})
    assert find(proc=proc.root) == ()


def test_ours_and_what_was_adopted_and_the_dead_are_left_out(proc: Proc) -> None:
    state = "/var/lib/pdlaunch/v4"
    proc.add(90, [PYTHON, "/opt/venv/bin/supervisord"], environ={MARK: f"{state}/supervisord"})
    proc.add(100, PREFILL, environ={MARK: f"{state}/prefill-0"})
    proc.add(101, DECODE, environ={MARK: "/var/lib/pdlaunch/other/decode-0"})
    proc.add(102, [*SERVER, "--port", "7"], environ={"A": "1"})
    proc.add(103, [*SERVER, "--port", "8"], environ={"A": "1"}, state="Z")
    assert [f.process.pid for f in find(proc=proc.root, taken=frozenset({102}))] == [101]


def test_how_each_was_launched(proc: Proc, tmp_path: Path) -> None:
    script = tmp_path / "serve.sh"
    script.write_text("#!/bin/bash\n")
    proc.add(50, ["tmux: server"], name="tmux: server")
    proc.add(51, ["-bash"], ppid=50)
    proc.add(60, ["/bin/bash", "-eu", "serve.sh"], cwd=tmp_path)
    proc.add(61, [PYTHON, "launch.py"], name="python")
    environ = {"A": "1"}
    proc.add(100, [*SERVER, "--port", "1"], ppid=51, environ=environ)
    proc.add(101, [*SERVER, "--port", "2"], ppid=60, environ=environ)
    proc.add(102, [*SERVER, "--port", "3"], ignores_hangup=True, environ=environ)
    proc.add(103, [*SERVER, "--port", "4"], ppid=61, environ=environ)
    proc.add(104, [*SERVER, "--port", "5"], environ=environ)
    launches = {f.port: f.launch for f in find(proc=proc.root)}
    assert {port: launch.how for port, launch in launches.items()} == {
        1: "tmux",
        2: "bash script",
        3: "nohup",
        4: "python (pid 61)",
        5: "a shell that has ended",
    }
    assert launches[2].script == str(script)


def test_a_unit_with_its_script(proc: Proc, tmp_path: Path) -> None:
    script = tmp_path / "decode.sh"
    script.write_text("#!/usr/bin/env bash\nexec python -m sglang.launch_server\n")
    unit = tmp_path / "etc/systemd/system/old-decode.service"
    unit.parent.mkdir(parents=True)
    unit.write_text(f"[Service]\nExecStart=-/bin/bash \\\n  {script}\n")
    proc.add(100, DECODE, environ={"A": "1"}, cgroup="/system.slice/old-decode.service")
    proc.add(101, PREFILL, environ={"A": "1"}, cgroup="/system.slice/ssh.service")
    decode, prefill = sorted(find(proc=proc.root, root=tmp_path), key=lambda f: f.process.pid)
    assert (decode.launch.how, decode.launch.script) == ("old-decode.service", str(script))
    assert decode.launch.unit is not None
    assert (decode.launch.unit.file, decode.launch.unit.user) == (str(unit), False)
    assert prefill.launch.unit is None


@pytest.mark.parametrize(
    "cgroup",
    [
        "9:name=systemd:/\n3:cpu:/\n0::/system.slice/old.service",
        "9:name=systemd:/system.slice/old.service\n3:cpu:/\n0::/",
        "9:name=systemd:/system.slice/old.service\n3:cpu:/system.slice",
    ],
)
def test_the_unit_is_found_in_whichever_hierarchy_tells_it(proc: Proc, cgroup: str) -> None:
    proc.add(100, DECODE, environ={"A": "1"}, cgroup=cgroup)
    (found,) = find(proc=proc.root)
    assert found.launch.how == "old.service"


def test_a_container_is_explained_and_refused(proc: Proc) -> None:
    import os

    proc.add(os.getpid(), ["pdlaunch"])
    proc.add(100, [*SERVER, "--port", "1"], environ={"A": "1"}, pid_namespace="pid:[7]")
    proc.add(101, [*SERVER, "--port", "2"], environ={"A": "1"}, cgroup="/system.slice/docker-0a1b2c.scope")
    assert [f.refused for f in find(proc=proc.root)] == [
        "it runs in a container: its process numbers are a container's",
        "it runs in a container: its control group is a container's: /system.slice/docker-0a1b2c.scope",
    ]


def test_a_process_that_renamed_itself_is_read_from_the_script_that_runs_above_it(proc: Proc, tmp_path: Path) -> None:
    script = tmp_path / "router.sh"
    script.write_text(f"export EXTRA=1\n{' '.join(ROUTER)}\n")
    proc.add(60, ["/bin/bash", str(script)], environ={"BASE": "2"})
    proc.add(120, ["sglang::router"], ppid=60, cmdline=b"sglang::router" + b"\0" * 40)
    proc.add(121, ["sglang::router"], cmdline=b"sglang::router   ")
    told, hidden = find(proc=proc.root)
    assert (told.words, told.environ, told.read_from) == (tuple(ROUTER), {"BASE": "2", "EXTRA": "1"}, str(script))
    assert told.port == 8000
    assert (
        hidden.refused == "it calls itself 'sglang::router' and hides its command; no script is known that started it"
    )


def test_a_router_gathers_the_workers_that_it_names(proc: Proc) -> None:
    box(proc)
    proc.add(130, [*SERVER, "--port", "31000"], environ={"A": "1"})
    found = find(proc=proc.root)
    assert [[f.process.pid for f in group] for group in deployments(found)] == [[100, 110, 120], [130]]
    with pytest.raises(InputError) as caught:
        choose(found, ())
    assert caught.value.message == (
        "2 deployments run here: prefill :30000 (pid 100), decode :30001 (pid 110), router :8000 (pid 120); "
        "aggregated :31000 (pid 130)"
    )
    assert caught.value.hint == "say which: pdlaunch adopt 100 110 120"
    assert [f.process.pid for f in choose(found, (110, 100))] == [100, 110]
    with pytest.raises(InputError, match="pid 5 is no server that could be adopted; there are: 100, 110, 120, 130"):
        choose(found, (5,))


def test_prefill_and_decode_of_one_model_belong_together_without_a_router(proc: Proc) -> None:
    proc.add(100, PREFILL, environ={"A": "1"})
    proc.add(110, DECODE, environ={"A": "1"})
    group = choose(find(proc=proc.root), ())
    assert [f.role for f in group] == ["prefill", "decode"]
    assert deployment_name(group) == "v4-flash"


def test_nothing_to_adopt_is_said(proc: Proc) -> None:
    with pytest.raises(InputError, match="no SGLang server, router or simulator runs here that pdlaunch did not start"):
        choose(find(proc=proc.root), ())
