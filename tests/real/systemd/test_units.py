"""The rendered units with systemd itself: its own judgement of them, and what becomes of the values in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.render.systemd import Command, Scope, placed, templates
from launcher.render.systemd.quoting import word

from ...deployments import Deployment, until
from .box import Box
from .sealing import sealed

pytestmark = pytest.mark.real

SERVICES = ("prefill-0", "decode-0", "router")
ODD = "50% of  $HOME @NUMBER@ ; #ä"
DUMP = """\
import json, os, sys
with open(sys.argv[1], "w") as file:
    json.dump([sys.argv[2:], dict(os.environ)], file)
"""


@pytest.mark.parametrize("scope", ["system", "user"])
def test_systemd_finds_nothing_to_say_about_any_unit(pd: Deployment, tmp_path: Path, scope: Scope) -> None:
    pd.settings["engine"]["secrets"] = {"HF_TOKEN": str(tmp_path / "token")}
    (tmp_path / "token").write_text("x")
    generation = sealed(pd)
    command = Command(Path(sys.executable), {"PDLAUNCH_STATE_DIR": str(tmp_path / ODD)})
    units = placed(templates(generation), 1, scope, nodes={}, command=command)
    folder = tmp_path / "units"
    folder.mkdir()
    for name, text in units.items():
        (folder / name).write_text(text)
    verify = ["systemd-analyze", f"--{scope}", "verify", "--man=no", "--recursive-errors=one"]
    names = [f"./{name}" for name in units]
    runtime = {"XDG_RUNTIME_DIR": str(tmp_path)}  # a user's manager cannot be thought of without
    done = subprocess.run(
        [*verify, *names], cwd=folder, env=os.environ | runtime, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(units) == 9


def test_a_value_reaches_the_process_unchanged(box: Box, tmp_path: Path) -> None:
    program, out = tmp_path / "dump.py", tmp_path / "out.json"
    program.write_text(DUMP)
    texts = st.lists(st.text(st.characters(blacklist_categories=["Cs", "Cc"]), max_size=40), min_size=200, max_size=200)

    @given(texts)
    @settings(max_examples=8)
    def arrive(values: list[str]) -> None:
        command = " ".join(map(word, (str(program), str(out), *values)))
        variables = "".join(f"Environment={word(f'V{n}={value}')}\n" for n, value in enumerate(values))
        unit = f"[Service]\nType=oneshot\n{variables}ExecStart=:{sys.executable} {command}\n"
        (box.folder / "keep/units/pd-dump.service").write_text(unit)
        box.systemctl("daemon-reload")
        box.systemctl("start", "pd-dump.service")
        words, environment = json.loads(out.read_text())
        assert words == values
        assert [environment[f"V{n}"] for n in range(len(values))] == values

    arrive()


def test_a_state_folder_of_any_name_serves(
    box: Box, pd: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PDLAUNCH_STATE_DIR", str(tmp_path / ODD))
    done = box.run("/bin/bash", sealed(pd) / "activate")
    assert done.stdout.endswith("back: generation 1 runs\n")
    assert {f"pd-pd-{name}.service" for name in SERVICES} | {"pd-pd.target"} == box.active()


def test_the_target_is_reached_when_tokens_came_back_and_not_before(box: Box, pd: Deployment) -> None:
    pd.env("decode", PDLAUNCH_SIM_FAULT="load:3s")
    box.run("/bin/bash", sealed(pd) / "activate")
    said = box.journal("-u", "pd-pd-ready.service", "-u", "pd-pd.target")
    assert [line for line in said if line.startswith(("ready", "Reached"))] == [
        "ready  proven to 513 tokens",
        "Reached target pd-pd.target - pd: prefill/decode serving.",
    ]
    box.systemctl("start", "pd-pd.target")
    again = box.journal("-u", "pd-pd-ready.service")
    assert again.count("ready  proven to 513 tokens") == 2


def test_without_tokens_the_target_fails_and_the_servers_stay(box: Box, pd: Deployment) -> None:
    pd.env("decode", PDLAUNCH_SIM_FAULT="reject:decode:500")
    generation = sealed(pd)
    done = box.run("/bin/bash", generation / "activate", check=False)
    assert done.returncode == 1
    assert "error: token  prefill-0 -> decode-0: decode-0 answered 500" in done.stdout
    assert "no tokens from generation 1" in done.stderr
    assert {f"pd-pd-{name}.service" for name in SERVICES} == box.active()
    assert [box.show(f"pd-pd-{name}.service", "NRestarts") for name in SERVICES] == ["0"] * 3
    assert not (pd.store.layout.state / "current").exists()
    box.systemctl("stop", *(f"pd-pd-{name}.service" for name in SERVICES), "pd-pd.target")
    assert box.active() == set()


def test_a_server_that_came_back_alone_is_proven_and_its_partner_left_alone(box: Box, pd: Deployment) -> None:
    box.run("/bin/bash", sealed(pd) / "activate")
    pids = {name: box.pid(f"pd-pd-{name}.service") for name in SERVICES}
    box.run("kill", "-9", str(pids["decode-0"]))
    until(lambda: "Finished pd-pd-rejoin" in "".join(box.journal("-u", "pd-pd-rejoin.service")), "it was asked again")
    said = box.journal("-u", "pd-pd-rejoin.service")
    assert "token  513 in, prefill-0 -> decode-0" in said
    assert "router  has healthy workers again" in said
    now = {name: box.pid(f"pd-pd-{name}.service") for name in SERVICES}
    assert [name for name in SERVICES if now[name] != pids[name]] == ["decode-0"]
    assert box.show("pd-pd.target", "ActiveState") == "active"


def test_what_would_stop_everything_by_accident_is_refused(box: Box, pd: Deployment) -> None:
    box.run("/bin/bash", sealed(pd) / "activate")
    pids = [box.pid(f"pd-pd-{name}.service") for name in SERVICES]
    for verb in ("stop", "restart"):
        done = box.run("systemctl", verb, "pd-pd-ready.service", check=False)
        assert "Operation refused" in done.stderr
    box.systemctl("restart", "pd-pd-decode-0.service")
    assert [pid == box.pid(f"pd-pd-{name}.service") for pid, name in zip(pids, SERVICES, strict=True)] == [
        True,
        False,
        True,
    ]


def test_activate_ends_what_no_unit_started(box: Box, pd: Deployment) -> None:
    generation = sealed(pd)
    box.run("bash", "-c", 'setsid -f "$0" < /dev/null > /dev/null 2>&1', generation / "decode-0.sh")

    def decodes() -> set[str]:
        return set(box.run("pgrep", "-f", "disaggregation-mode decode", check=False).stdout.split())

    by_hand = until(decodes, "it runs")
    done = box.run("/bin/bash", generation / "activate")
    assert "stopping what no unit started: " in done.stdout
    assert not by_hand & decodes()
    assert {f"pd-pd-{name}.service" for name in SERVICES} | {"pd-pd.target"} == box.active()


def test_a_script_that_was_edited_is_not_started(box: Box, pd: Deployment) -> None:
    generation = sealed(pd)
    box.run("/bin/bash", generation / "activate")
    script = generation / "decode-0.sh"
    script.chmod(0o755)
    script.write_text(script.read_text() + "# edited\n")
    assert box.run("systemctl", "restart", "pd-pd-decode-0.service", check=False).returncode == 1
    assert "error: generation 1 is not as it was recorded: nothing is started" in box.journal(
        "-u", "pd-pd-decode-0.service"
    )


def test_an_edited_unit_and_a_drop_in_start_with_a_warning(box: Box, pd: Deployment) -> None:
    box.run("/bin/bash", sealed(pd) / "activate")
    unit = box.folder / "keep/units/pd-pd-decode-0.service"
    assert not [line for line in box.journal("-u", unit.name, "-p", "warning") if "generation" in line]
    unit.write_text(unit.read_text().replace("TimeoutStopSec=3", "TimeoutStopSec=4"))
    drop = box.folder / "keep/units/pd-pd-decode-0.service.d/x.conf"
    drop.parent.mkdir()
    drop.write_text("[Service]\nNice=1\n")
    box.systemctl("daemon-reload")
    box.systemctl("restart", unit.name)
    said = box.journal("-u", unit.name, "-p", "warning")
    assert "drop-in in force: /etc/systemd/system/pd-pd-decode-0.service.d/x.conf" in said
    assert any("is not what generation 1 installs" in line for line in said)


def test_a_secret_comes_from_systemd_to_a_user_who_cannot_read_its_file(
    box: Box, pd: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.run("mount", "--make-rshared", "/")  # as on any machine that systemd has booted
    for folder in (box.folder, *Path(sys.executable).resolve().parents[:-1]):
        box.run("chmod", "o+x", folder, check=False)
    for name in ("state", "cache"):
        monkeypatch.setenv(f"PDLAUNCH_{name.upper()}_DIR", str(box.folder / name))
    token = box.folder / "token"
    token.write_text("s3cret")
    token.chmod(0o600)
    pd.settings["engine"] |= {"user": "nobody", "secrets": {"HF_TOKEN": str(token)}}
    generation = sealed(pd)
    box.run("/bin/bash", generation / "activate")
    pid = box.pid("pd-pd-decode-0.service")
    environ = box.run("cat", f"/proc/{pid}/environ").stdout.split("\0")
    assert "HF_TOKEN=s3cret" in environ
    assert box.run("stat", "-c", "%U", f"/proc/{pid}").stdout.strip() == "nobody"
    assert "s3cret" not in box.systemctl("show", "pd-pd-decode-0.service") + box.systemctl(
        "cat", "pd-pd-decode-0.service"
    )


def test_a_user_s_own_manager_serves_without_root(box: Box, pd: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    home, user = box.folder / "home", "games"
    for folder in (box.folder, *Path(sys.executable).resolve().parents[:-1]):
        box.run("chmod", "o+x", folder, check=False)
    for name in ("state", "cache"):
        monkeypatch.setenv(f"PDLAUNCH_{name.upper()}_DIR", str(home / name))
    generation = sealed(pd)
    box.run("chown", "-R", user, home)
    places = ("-E", f"HOME={home}", "-E", "XDG_RUNTIME_DIR=/run/manager")
    owned = ("-p", f"User={user}", "-p", "Delegate=yes", "-p", "RuntimeDirectory=manager", "-p", "Type=notify")
    box.run("systemd-run", "--unit=manager", *owned, *places, "/lib/systemd/systemd", "--user")

    def as_user(*words: str | Path) -> str:
        own = ("env", f"HOME={home}", "XDG_RUNTIME_DIR=/run/manager")
        return box.run("runuser", "-u", user, "--", *own, *words).stdout

    def show(service: str, name: str) -> str:
        return as_user("systemctl", "--user", "show", "-P", name, f"pd-pd-{service}.service").strip()

    assert as_user("/bin/bash", generation / "activate").endswith("back: generation 1 runs\n")
    pid = show("decode-0", "MainPID")
    assert box.run("stat", "-c", "%U", f"/proc/{pid}").stdout.strip() == user
    assert (home / ".config/systemd/user/default.target.wants/pd-pd-boot.service").is_symlink()
    box.run("kill", "-9", pid)
    until(lambda: any(line.startswith("Finished pd-pd-rejoin") for line in box.journal()), "it was asked again")
    assert show("decode-0", "MainPID") not in ("0", pid)
    as_user("systemctl", "--user", "stop", *(f"pd-pd-{name}.service" for name in SERVICES), "pd-pd.target")
    assert box.run("pgrep", "-u", user, "-f", "simulator", check=False).stdout == ""
