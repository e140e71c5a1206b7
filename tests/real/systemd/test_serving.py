"""A deployment under a real systemd: up, status, what dies, what hangs, down."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from ...deployments import Deployment, until
from .box import Box

pytestmark = pytest.mark.real

SERVICES = ("prefill-0", "decode-0", "router")


def unit(deployment: Deployment, service: str) -> str:
    return f"pd-{deployment.name}-{service}.service"


def state(box: Box) -> str:
    return str(json.loads(box.pdlaunch("status", "--json", check=False).stdout)["state"])


def test_up_serves_and_down_leaves_nothing(box: Box, pd: Deployment) -> None:
    done = box.pdlaunch("up", pd.profile)
    assert "generation 1" in done.stdout
    assert "loaded" in done.stderr
    assert {unit(pd, name) for name in SERVICES} <= box.active()
    box.until_active("pd-pd.target")
    seen = json.loads(box.pdlaunch("status", "--json").stdout)
    assert (seen["state"], seen["drift"]) == ("ok", [])
    assert seen["services"][0]["log"] == "journalctl -u pd-pd-prefill-0.service"
    assert "running equals 1: yes" in box.pdlaunch("diff", "--live").stdout
    assert "fired up and ready to roll" in box.pdlaunch("logs", "decode", "-n", "1000").stdout

    again = box.pdlaunch("up", pd.profile)
    assert "unchanged" in again.stdout

    box.pdlaunch("down")
    assert box.active() == set()
    assert state(box) == "stopped"
    left = box.run("sh", "-c", "grep -lz PDLAUNCH_SERVICE= /proc/[0-9]*/environ", check=False).stdout
    assert left == ""
    box.reboot()
    assert box.active() == set()


def test_a_change_restarts_what_differs_and_rollback_takes_it_back(box: Box, pd: Deployment) -> None:
    box.pdlaunch("up", pd.profile)
    pids = {name: box.pid(unit(pd, name)) for name in SERVICES}
    pd.env("decode", PDLAUNCH_SIM_TOKEN_MS="2")
    box.pdlaunch("up", pd.profile)
    now = {name: box.pid(unit(pd, name)) for name in SERVICES}
    assert [name for name in SERVICES if now[name] != pids[name]] == ["decode-0"]
    assert "generations/2/" in box.systemctl("cat", unit(pd, "prefill-0"))
    assert "generations/2/" in box.systemctl("cat", "pd-pd-boot.service")

    box.pdlaunch("rollback", "--to", "1", "--yes")
    assert state(box) == "ok"
    assert box.pid(unit(pd, "prefill-0")) == pids["prefill-0"]
    assert "generations/1/" in box.systemctl("cat", unit(pd, "decode-0"))
    box.reboot()
    until(lambda: state(box) == "ok", "generation 1 serves after the reboot")
    assert "generations/1/" in box.systemctl("cat", unit(pd, "decode-0"))


def test_activate_takes_it_back_without_pdlaunch(box: Box, pd: Deployment) -> None:
    box.pdlaunch("up", pd.profile)
    box.pdlaunch("up", pd.env("decode", PDLAUNCH_SIM_TOKEN_MS="2").profile)
    prefill, decode = box.pid(unit(pd, "prefill-0")), box.pid(unit(pd, "decode-0"))
    script = pd.store.layout.generation(1) / "activate"
    done = box.run("env", "-i", "PATH=/usr/bin:/bin", script)
    assert done.stdout.splitlines()[-1] == "back: generation 1 runs"
    assert box.pid(unit(pd, "prefill-0")) == prefill
    assert box.pid(unit(pd, "decode-0")) != decode
    seen = json.loads(box.pdlaunch("status", "--json").stdout)
    assert (seen["state"], seen["generation"], seen["drift"], seen["remark"]) == ("ok", 1, [], None)
    box.reboot()
    until(lambda: state(box) == "ok", "generation 1 comes back", seconds=60)
    assert json.loads(box.pdlaunch("status", "--json").stdout)["generation"] == 1


def test_a_deployment_that_moves_to_another_backend_leaves_nothing_behind(box: Box, one: Deployment) -> None:
    box.pdlaunch("up", one.profile, "--backend", "supervisord")
    assert box.active() == set()
    box.pdlaunch("up", one.profile)
    box.until_active("pd-one.target")
    assert state(box) == "ok"
    assert box.run("pgrep", "-f", "supervisor.supervisord", check=False).stdout == ""

    box.pdlaunch("up", one.profile, "--backend", "supervisord")
    assert state(box) == "ok"
    assert box.active() == set()
    box.reboot()
    assert box.active() == set()
    assert state(box) == "failed"  # nothing starts supervisord at boot, and `status` says that it ended
    box.pdlaunch("down")


def test_down_also_ends_what_no_generation_tells_of_any_more(box: Box, one: Deployment) -> None:
    box.pdlaunch("up", one.profile)
    plan = one.store.layout.generation(1) / "plan.json"
    box.run("sh", "-c", f"chmod u+w {plan} && echo broken > {plan}")
    box.pdlaunch("down")
    assert box.active() == set()
    box.reboot()
    assert box.active() == set()


def test_what_dies_is_started_again_up_to_a_limit(box: Box, one: Deployment) -> None:
    one.settings["restart"]["within"] = "10m"
    box.pdlaunch("up", one.profile)
    name = unit(one, "aggregated-0")
    first = box.pid(name)
    box.run("kill", "-9", str(first))
    until(lambda: box.pid(name) not in (0, first) and state(box) == "ok", "it is started again")
    seen = json.loads(box.pdlaunch("status", "--json").stdout)
    assert seen["services"][0]["restarts"] == 1

    for _ in range(one.settings["restart"]["tries"]):
        box.run("kill", "-9", str(until(lambda: box.pid(name), "it runs")))
        until(lambda: box.pid(name) == 0, "it is gone")
    until(lambda: box.show(name, "ActiveState") == "failed", "it is left as it is")
    assert state(box) == "failed"
    starts = [line for line in box.journal("-u", name) if line.startswith(f"Started {name}")]
    assert len(starts) == 1 + one.settings["restart"]["tries"]

    box.pdlaunch("restart")
    assert state(box) == "ok"


def test_the_death_of_a_child_ends_the_server_which_is_started_again(box: Box, one: Deployment) -> None:
    box.pdlaunch("up", one.profile)
    name = unit(one, "aggregated-0")
    first = box.pid(name)
    child = box.run("pgrep", "-P", str(first)).stdout.split()[0]
    box.run("kill", "-9", child)
    until(lambda: box.pid(name) not in (0, first) and state(box) == "ok", "it is started again")


def test_one_that_stands_still_and_one_that_does_not_listen_are_ended(box: Box, one: Deployment) -> None:
    box.pdlaunch("up", one.profile)
    box.run("kill", "-STOP", str(box.pid(unit(one, "aggregated-0"))))
    box.pdlaunch("down")
    assert box.active() == set()

    box.pdlaunch("up", one.env(PDLAUNCH_SIM_FAULT="ignore-term").profile)
    box.pdlaunch("down")
    assert box.active() == set()


def test_what_a_boot_brought_back_holds_its_cards(box: Box, one: Deployment, free_port: Callable[[], int]) -> None:
    one.settings["aggregated"]["gpus"] = 0
    box.pdlaunch("up", one.profile)
    box.reboot()
    until(lambda: state(box) == "ok", "it serves after the reboot")
    two = one.another("two", aggregated={"gpus": 0, "port": free_port(), "nccl_port": free_port()})
    refused = box.pdlaunch("up", two.profile, check=False)
    assert refused.returncode == 4
    assert "gpu-0" in refused.stderr


def test_a_manager_that_is_executed_anew_keeps_everything(box: Box, one: Deployment) -> None:
    box.pdlaunch("up", one.profile)
    pid = box.pid(unit(one, "aggregated-0"))
    box.systemctl("daemon-reexec")
    assert box.pid(unit(one, "aggregated-0")) == pid
    assert state(box) == "ok"


def test_a_server_that_dies_while_it_loads_is_told_with_its_words(box: Box, one: Deployment) -> None:
    done = box.pdlaunch("up", one.env(PDLAUNCH_SIM_FAULT="crash:start").profile, check=False)
    assert done.returncode == 1
    assert "aggregated-0  died after" in done.stderr
    assert "Error" in done.stderr
    assert box.active() == set()
