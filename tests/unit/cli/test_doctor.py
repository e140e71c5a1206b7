"""`pdlaunch doctor`, word for word: a box with eight cards told by a stand-in for NVML, in health and out of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from launcher.observe.cards import cards
from launcher.observe.folders import Folder
from launcher.observe.limits import Limits
from launcher.observe.pci import Paths
from launcher.operations import gathering

from ...deployments import Deployment
from ...nvml import Nvml
from .conftest import Shell

GIB = 1 << 30


@pytest.fixture(autouse=True)
def _a_box(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is this machine's own and not the cards': the same everywhere."""
    monkeypatch.setattr(gathering, "cards", lambda: cards(sys_folder=tmp_path / "sys"))
    bridge = {"0000:12:00.0": ("0000:00:01.0",)}
    monkeypatch.setattr(gathering, "paths", lambda _: Paths(bridge, (), (), {}))
    monkeypatch.setattr(gathering, "xids", lambda: ())
    monkeypatch.setattr(gathering, "tools", lambda _: {"nvcc": "/x/nvcc", "ninja": "/x/ninja", "numactl": None})
    monkeypatch.setattr(gathering, "toolkit", lambda _: "13.0")
    monkeypatch.setattr(gathering, "shared_memory", lambda: 64 * GIB)
    monkeypatch.setattr(gathering, "limits", lambda *_: Limits((-1, -1), (1024, 1 << 20), privileged=True))
    monkeypatch.setattr(gathering, "folder", lambda path: Folder(str(path), 500 * GIB, False, False))
    monkeypatch.setattr("launcher.observe.machine.ephemeral_range", lambda: (32768, 60999))


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """One server on four of the cards, no router, of an engine that is not here."""
    model = tmp_path / "model"
    model.mkdir()
    for name in ("config.json", "tokenizer.json"):
        (model / name).write_text("{}")
    path = tmp_path / "box.yaml"
    server = {"gpus": "2-5", "port": 21001, "nccl_port": 21002}
    settings = {"name": "box", "backend": "supervisord", "model": str(model), "engine": {"venv": "/none"}}
    path.write_text(yaml.safe_dump({**settings, "aggregated": server}))
    return path


LEFT_OUT = """\
left out DR301-DR302: the engine's environment is not on this machine
left out DR304: it takes up to a minute; ask with --deep
left out DR305: the profile has no router
left out DR501: an aggregated deployment moves nothing
"""


def test_a_box_in_health(shell: Shell, nvml: Nvml, profile: Path) -> None:
    nvml.box()
    said = shell("doctor", str(profile)).plain(MODEL=profile.parent / "model", PROFILE=profile)
    assert said == (
        """\
0
warning  DR203  aggregated-0 crosses sockets: 2,3 on node 0 and 4,5 on node 1; each step goes over the link between them
         fix  gpus: 0-3  lie together (all: 0-3 on node 0, 4-7 on node 1)
warning  DR303  numactl is not on the services' PATH: the services run without
         fix  sudo apt-get install numactl  SGLang binds each scheduler to its socket with it
note  DR601  MODEL holds no safetensors: its weights were not looked at
ok  DR101  8x NVIDIA RTX PRO 6000 Blackwell Server Edition, driver 595.71.05, up to CUDA 13.0
ok  DR102  all 4 cards of the profile are there: 2-5
ok  DR103  the cards of each server are alike
ok  DR105  nobody is on GPUs 2-5
ok  DR106  at least 95.1 GiB are free on each card
ok  DR107  the cards are whole and may be shared
ok  DR111  no memory error since the driver loaded
ok  DR112  no Xid since boot, as far as the kernel's log reaches
ok  DR113  no card is limited below its usual power
ok  DR114  GPUs 2-5: no clock is held down
ok  DR201  PCIe 5 x16 on every card
ok  DR202  all 6 pairs that work together reach each other, over PCIe
ok  DR204  no IOMMU; no ACS redirect
ok  DR401  2 ports are free, outside the ephemeral range 32768-60999
ok  DR402  services get enough (from this shell): memlock unlimited, open files 1048576
ok  DR403  /dev/shm has 64.0 GiB
ok  DR404  free: 500.0 GiB for state, 500.0 GiB for cache, 500.0 GiB for temporary
ok  DR405  programs run from /tmp
left out DR104: there was no start yet whose cards were recorded
"""
        + LEFT_OUT
        + """\
---

PROFILE: 2 warnings, 1 note; 18 ok, in N s
"""
    )


def test_the_worst_comes_first_and_a_blocker_is_exit_1(shell: Shell, nvml: Nvml, profile: Path) -> None:
    nvml.box("", "", "", "p2p PPPPCPPP", "lost 1", "process 4194999 60000\nlimit 450000\nwidth 8")
    said = shell("doctor", str(profile))
    assert said.code == 1
    lines = [line for line in said.out.splitlines() if not line.startswith(("ok", "left"))]
    assert lines[0] == "blocker  DR101  GPU 4 does not answer: GPU is lost"
    assert [line[:15] for line in lines if "DR" in line[:15]] == [
        "blocker  DR101 ",
        "blocker  DR105 ",
        "blocker  DR106 ",
        "warning  DR113 ",
        "warning  DR201 ",
        "warning  DR203 ",
        "warning  DR303 ",
        "note     DR601 ",
    ]
    assert "         fix    sudo nvidia-smi -i 5 -pl 600" in lines


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("init 9\n", "no GPU can be used: the NVIDIA library is here, but the driver is not loaded"),
        ("init 18\n", "no GPU can be used: the NVIDIA library is of another version than the loaded driver"),
    ],
)
def test_a_driver_that_does_not_answer_is_one_finding(
    shell: Shell, nvml: Nvml, profile: Path, lines: str, text: str
) -> None:
    nvml.says(lines)
    said = shell("doctor", str(profile))
    assert said.code == 1
    assert said.out.startswith(f"blocker  DR101  {text}\n         fix    ")
    assert "DR113-DR302: the driver does not answer" in said.out
    assert shell("doctor").code == 0, "a machine alone may well be without cards"


def test_one_card(shell: Shell, nvml: Nvml) -> None:
    nvml.box("process 4194999 60000")
    said = shell("doctor", "--gpu", "0")
    assert said.code == 0
    assert said.out.startswith("warning  DR105  GPU 0: 58.6 GiB of pid 4194999, which cannot be seen from here")
    assert shell("doctor", "--gpu", "9").plain() == (
        "2\n---\nerror: there is no GPU 9\nhint: nvidia-smi -L shows which there are\n"
    )


def test_one_thing_at_a_time(shell: Shell, profile: Path) -> None:
    said = shell("doctor", str(profile), "--gpu", "0")
    assert said.plain() == "2\n---\nerror: one of PROFILE, -d NAME and --gpu N\nhint: pdlaunch doctor --help\n"


def test_as_json(shell: Shell, nvml: Nvml, profile: Path) -> None:
    nvml.box("", "", "", "", "", "mig 1")
    said = shell("doctor", str(profile), "--json")
    found = json.loads(said.out)
    assert (said.code, found["schema_version"], found["subject"]) == (1, 1, str(profile))
    assert found["findings"][0] == {
        "level": "blocker",
        "code": "DR107",
        "title": "the cards are whole, and take several processes",
        "text": "GPU 5 is cut into MIG slices: it cannot be used whole",
        "fix": "sudo nvidia-smi -i 5 -mig 0",
    }
    assert {"code", "title", "why"} == set(found["left_out"][0])


def test_a_profile_with_errors_is_checks_business(shell: Shell, profile: Path) -> None:
    profile.write_text(profile.read_text().replace("2-5", "x"))
    said = shell("doctor", str(profile))
    assert (said.code, said.out) == (2, "")
    assert "nothing was started or changed" in said.err


def test_up_stops_before_anything_is_stopped(shell: Shell, agg: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "folder", lambda path: Folder(str(path), 500 * GIB, False, readonly=True))
    said = shell("up", str(agg.profile))
    assert said.code == 1
    state = agg.store.layout.state
    assert said.err.endswith(
        f"""\
error: this machine cannot serve it now, and nothing was stopped:
DR404  {state} lies on a disk that is read-only
       fix  mount | grep ' ro,'
DR404  {agg.store.layout.cache} lies on a disk that is read-only
       fix  mount | grep ' ro,'
hint: pdlaunch doctor -d agg; to start all the same, allow DR404 in the profile
"""
    )
    assert agg.procs() == {}
    agg.settings["allow"] = [{"what": "DR404", "why": "a test", "by": "tests", "until": "2099-01-01"}]
    assert shell("up", str(agg.profile)).code == 0
    said = shell("doctor")
    assert (
        "ok       DR401  2 ports are free or this deployment's own, outside the ephemeral range 32768-60999" in said.out
    )
    assert "\nagg: " in said.err


def test_a_lock_is_examined_as_it_is(shell: Shell, agg: Deployment) -> None:
    assert shell("lock", str(agg.profile)).code == 0
    said = shell("doctor", str(agg.profile.with_suffix(".lock.yaml")))
    assert said.code == 0
    assert "left out DR501: the simulator moves no KV cache" in said.out
