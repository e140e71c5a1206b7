"""`activate` of a systemd plan, run as it is but for its folders, with a systemctl that only writes down its words."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from launcher.plan import Plan
from launcher.render import Layout, render
from launcher.render.systemd import placed, templates
from launcher.render.systemd.lasting import boot_text, boot_unit, return_timer
from launcher.store import Store

from .making import shipped_plan

SYSTEMCTL = """\
#!/bin/bash
echo "systemctl $*" >> {log}
[[ " $* " != *" start "* ]] || exit {status}
"""


@dataclass(frozen=True)
class Machine:
    """Folders in place of the machine's."""

    folder: Path
    plan: Plan

    @property
    def units(self) -> Path:
        return self.folder / "units"

    @property
    def layout(self) -> Layout:
        name = self.plan.deployment
        return Layout(
            deployment=name, state=self.folder / "state" / name, cache=self.folder / "c", run=self.folder / "r"
        )

    def generation(self, plan: Plan | None = None) -> Path:
        """The next generation, whose `activate` looks at this machine's folders."""
        wanted = plan or self.plan
        bundle = render(wanted, self.layout)
        files = dict(bundle.files)
        script = files["activate"]
        text = script.text.replace("/etc/systemd/system", str(self.units))
        text = text.replace("/proc/driver/nvidia", f"{self.folder}/nvidia").replace("/sys/", f"{self.folder}/sys/")
        files["activate"] = type(script)(text, script.mode)
        bundle = type(bundle)(files)
        return Store(self.layout).commit(b"", wanted, bundle, snapshot_digest=None, by="a test").path

    def activate(
        self, generation: Path, *words: str, status: int = 0
    ) -> tuple[subprocess.CompletedProcess[str], list[str]]:
        """What it did, and what it asked of systemctl."""
        log, bin_folder = self.folder / "log", self.folder / "bin"
        bin_folder.mkdir(exist_ok=True)
        for name, text in {
            "systemctl": SYSTEMCTL,
            "journalctl": "#!/bin/bash\n",
            "id": "#!/bin/bash\necho 0\n",
        }.items():
            (bin_folder / name).write_text(text.format(log=log, status=status) if name == "systemctl" else text)
            (bin_folder / name).chmod(0o755)
        log.unlink(missing_ok=True)
        done = subprocess.run(
            ["/bin/bash", str(generation / "activate"), *words],
            env={"PATH": f"{bin_folder}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        return done, log.read_text().splitlines() if log.exists() else []

    def installed(self) -> Mapping[str, str]:
        return {path.name: path.read_text() for path in self.units.iterdir()}

    def current(self) -> str:
        return (self.layout.state / "current").read_text()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path, shipped_plan())


def cards(folder: Path, nodes: list[str]) -> None:
    """As many cards as `nodes`, on these memory nodes of two."""
    for node in range(2):
        (folder / f"sys/devices/system/node/node{node}").mkdir(parents=True)
    for card, node_of in enumerate(nodes):
        (folder / f"nvidia/gpus/0000:{card:02x}:00.0").mkdir(parents=True)
        device = folder / f"sys/bus/pci/devices/0000:{card:02x}:00.0"
        device.mkdir(parents=True)
        (device / "numa_node").write_text(f"{node_of}\n")


@pytest.mark.parametrize(
    ("nodes", "known"),
    [
        (["0"] * 4 + ["1"] * 4, {card: card // 4 for card in range(8)}),
        (["0"] * 6 + ["1"] * 2, {card: card // 6 for card in range(8)}),
        (["-1"] * 8, {}),
        (["0"] * 4, dict.fromkeys(range(4), 0)),
    ],
    ids=["a node for each role", "decode on two", "unknown", "cards gone"],
)
def test_it_installs_the_same_bytes_as_pdlaunch(machine: Machine, nodes: list[str], known: dict[int, int]) -> None:
    cards(machine.folder, nodes)
    generation = machine.generation()
    done, _ = machine.activate(generation)
    assert done.returncode == 0, done.stderr
    wanted = placed(templates(generation), 1, "system", nodes=known, command=None)
    boot = boot_unit(machine.plan.deployment)
    remembered = boot_text(machine.plan.deployment, generation, "multi-user.target")
    assert machine.installed() == {**wanted, boot: remembered}


def test_the_order_of_its_steps(machine: Machine) -> None:
    first = machine.generation()
    done, asked = machine.activate(first)
    assert [" ".join(line.split()[1:3]) for line in asked] == [
        "kill pd-dsv4-flash-ready.service",
        "daemon-reload",
        "reset-failed --",
        "start pd-dsv4-flash.target",
        "--quiet is-enabled",  # and enabled where it is not
    ]
    assert done.stdout.endswith("back: generation 1 runs\n")
    assert machine.current() == "1\n"


def test_only_what_differs_is_stopped(machine: Machine) -> None:
    machine.activate(machine.generation())
    decode = machine.plan.services[1]
    changed = decode.model_copy(update={"gpus": (4, 5, 6)})
    services = (machine.plan.services[0], changed, machine.plan.services[2])
    _, asked = machine.activate(machine.generation(machine.plan.model_copy(update={"services": services})))
    assert "systemctl stop pd-dsv4-flash-decode-0.service" in asked
    _, asked = machine.activate(machine.layout.generation(1))
    assert "systemctl stop pd-dsv4-flash-decode-0.service" in asked
    _, asked = machine.activate(machine.layout.generation(1))
    assert not [line for line in asked if " stop " in line]


def test_a_service_that_is_no_more_is_stopped_and_its_unit_removed(machine: Machine) -> None:
    machine.activate(machine.generation())
    fewer = machine.plan.model_copy(update={"services": machine.plan.services[:2]})
    _, asked = machine.activate(machine.generation(fewer))
    assert "systemctl stop pd-dsv4-flash-router.service" in asked
    assert "pd-dsv4-flash-router.service" not in machine.installed()


def test_units_that_need_pdlaunch_stay_as_they_are(machine: Machine) -> None:
    generation = machine.generation()
    done, _ = machine.activate(generation)
    assert "pd-dsv4-flash-watch.service is left out: it needs pdlaunch" in done.stdout
    watch = machine.units / "pd-dsv4-flash-watch.service"
    watch.write_text("X-Deployment=dsv4-flash\nExecStart=:/usr/bin/pdlaunch watch -d dsv4-flash\n")
    done, asked = machine.activate(generation)
    assert watch.exists()
    assert "watch" not in done.stdout
    assert not [line for line in asked if "watch" in line]


def test_another_deployment_s_units_are_left_alone(machine: Machine) -> None:
    machine.units.mkdir()
    other = machine.units / "pd-dsv4-flash-b-router.service"
    other.write_text("[Unit]\nX-Deployment=dsv4-flash-b\n")
    _, asked = machine.activate(machine.generation())
    assert other.exists()
    assert not [line for line in asked if "flash-b-" in line]


def test_without_tokens_the_pointer_stays(machine: Machine) -> None:
    machine.activate(machine.generation())
    done, asked = machine.activate(machine.generation(), status=1)
    assert done.returncode == 1
    assert "error: no tokens from generation 2; the pointer names 1" in done.stderr
    assert machine.current() == "1\n"
    assert not [line for line in asked if "enable" in line]
    assert "generations/1/" in machine.installed()["pd-dsv4-flash-boot.service"]


def test_at_boot_it_does_not_wait(machine: Machine) -> None:
    done, asked = machine.activate(machine.generation(), "--boot")
    assert "systemctl --no-block start pd-dsv4-flash.target" in asked
    assert done.stdout.endswith("generation 1 starts\n")


def test_nothing_is_touched_where_a_file_is_not_as_recorded(machine: Machine) -> None:
    generation = machine.generation()
    script = generation / "decode-0.sh"
    script.chmod(0o755)
    script.write_text(script.read_text() + "# edited\n")
    done, asked = machine.activate(generation)
    assert done.returncode == 1
    assert "generation 1 is not as it was recorded" in done.stderr
    assert asked == []
    assert not machine.units.exists()


@pytest.mark.parametrize(("words", "stays"), [((), False), (("--boot",), True)])
def test_only_by_hand_it_withdraws_what_was_to_be_confirmed(
    machine: Machine, words: tuple[str, ...], stays: bool
) -> None:
    generation = machine.generation()
    note = machine.layout.state / "unconfirmed.json"
    note.write_text("{}")
    done, asked = machine.activate(generation, *words)
    assert done.returncode == 0, done.stderr
    timer = return_timer(machine.plan.deployment)
    assert (note.exists(), any("disable" in line and timer in line for line in asked)) == (stays, not stays)


@pytest.mark.parametrize("backend", ["systemd", "supervisord"])
@pytest.mark.parametrize("words", [("--help",), ("--bogus",), ("--boot", "more"), ("",) * 2])
def test_words_it_does_not_know_change_nothing(machine: Machine, words: tuple[str, ...], backend: str) -> None:
    generation = machine.generation(machine.plan.model_copy(update={"backend": backend}))
    done = subprocess.run(
        ["/bin/bash", str(generation / "activate"), *words], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: ")
    assert not machine.units.exists()
    assert not (machine.layout.state / "current").exists()
