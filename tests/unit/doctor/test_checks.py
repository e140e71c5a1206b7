"""Every check, on a box in full health and on one that lacks exactly what it looks for."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from launcher.doctor import CHECKS, Facts, Ports, Ran, Software, judge
from launcher.observe.card import Absent, Link, Pair
from launcher.observe.folders import Folder
from launcher.observe.limits import Limits
from launcher.observe.pci import Paths
from launcher.observe.sockets import Listener
from launcher.observe.transfer import TransferFailed, Transferred
from launcher.observe.weights import Weights
from launcher.observe.xids import Xid
from launcher.plan.model import EngineUse

from .making import CARDS, FACTS, GIB, PREFILL, ROUTER, a_service, held, waived, who, with_card, with_plan

TODAY = dt.date(2026, 12, 1)
SLOW = Transferred("prefill-0", "decode-0", "VRAM", 32 << 20, (0.1,), "tcp/lo", "zero-copy")
WAYS = {"0000:10:00.0": ("0000:00:01.0",)}
UNREAD = Paths(WAYS, (), ("0000:00:01.0",), {})


def broken(error: str, *said: str) -> Facts:
    return replace(FACTS, transferred=TransferFailed("prefill-0", "decode-0", "decode-0", "DRAM", error, said))


def folders(name: str, free: int = 500 * GIB, *, noexec: bool = False, readonly: bool = False) -> Facts:
    return replace(FACTS, folders={**FACTS.folders, name: Folder(f"/{name}", free, noexec, readonly)})


def weights(missing: tuple[str, ...] = (), broken: tuple[tuple[str, str], ...] = (), unfinished: int = 0) -> Facts:
    left = tuple(f"{i}.incomplete" for i in range(unfinished))
    return replace(FACTS, weights=Weights("/models/m", True, 45, GIB, missing, broken, left))


def without_pairs(*ends: tuple[int, int]) -> Facts:
    why = "the chipset does not support it"
    pairs = [p for p in CARDS.pairs if (p.first, p.second) not in ends]
    pairs += [Pair(a, b, why, why, False, "system") for a, b in ends]
    return replace(FACTS, cards=replace(CARDS, pairs=tuple(pairs)))


def limited(memlock: int, nofile: int = 1 << 20, *, privileged: bool = False) -> Facts:
    return replace(FACTS, shell=Limits((memlock, memlock), (1024, nofile), privileged))


def listening(port: int, pid: int | None = 4242, **holder: str) -> Facts:
    owners = who(pid, **holder) if pid else {}
    command = "python -m http.server" if pid else "a process of another user"
    return replace(FACTS, ports=Ports({port: Listener(port, pid, command)}, (32768, 60999), frozenset(), owners))


def software(**changes: object) -> Facts:
    made = {"path": "/opt/sglang/venv", "torch": "2.13.0", "cuda": "13.0", "nixl": {"nixl-cu13": "1.5.1"}} | changes
    return replace(FACTS, software=Software(**made))  # type: ignore[arg-type]


def without(*programs: str, kernels: bool = False) -> Facts:
    return replace(FACTS, tools={**dict(FACTS.tools or {}), **dict.fromkeys(programs)}, kernels=kernels)


CASES: list[tuple[Facts, str, str, str, str | None]] = [
    # what is wrong, level, code, a part of the text, a part of the fix
    (
        replace(FACTS, cards=Absent("driver", "not loaded")),
        "blocker",
        "DR101",
        "no GPU can be used: not loaded",
        "modprobe",
    ),
    (replace(FACTS, cards=Absent("library", "none")), "blocker", "DR101", "none", "engine: {kind: cpu}"),
    (Facts(cards=Absent("library", "none")), "note", "DR101", "none", "install"),
    (
        replace(FACTS, cards=replace(CARDS, lost={5: "GPU is lost"})),
        "blocker",
        "DR101",
        "GPU 5 does not answer",
        "reboot",
    ),
    (replace(FACTS, cards=replace(CARDS, missing=("nvmlX", "nvmlY"))), "note", "DR101", "nvmlX and 1 more", None),
    (with_plan(services=(a_service("decode-0", (7, 8, 9)),)), "blocker", "DR102", "decode-0 wants GPUs 8,9", "0 and 7"),
    (with_card(2, name="NVIDIA H200"), "warning", "DR103", "unlike cards: NVIDIA H200 and NVIDIA RTX", "one model"),
    (
        with_plan(services=(a_service("decode-0", (4,), SGLANG_SM100_X="1"),)),
        "warning",
        "DR103",
        "SGLANG_SM100_X is for SM100, and its cards are SM120",
        "delete",
    ),
    (
        with_card(5, uuid="GPU-6"),
        "blocker",
        "DR104",
        "GPU 5 is GPU-6 (0000:15:00.0), and was GPU-5 at the last start: that one is gone",
        "nvidia-smi -L",
    ),
    (
        held(5, deployment=None),
        "blocker",
        "DR105",
        "GPU 5: 30.0 GiB of pid 4242 (python -m vllm serve, of anna",
        "kill 4242",
    ),
    (
        held(5, deployment="old", service="decode-0"),
        "blocker",
        "DR105",
        "decode-0 of deployment old",
        "pdlaunch down -d old",
    ),
    (held(5), "blocker", "DR105", "cannot be seen from here", "on the host: ps -fp 4242"),
    (held(5, memory=50 << 20, deployment=None), "note", "DR105", "50 MiB of pid 4242", "kill 4242"),
    (held(5, memory=None, deployment=None), "blocker", "DR105", "GPU 5: pid 4242", "kill 4242"),
    (replace(held(5, deployment=None), plan=None), "warning", "DR105", "pid 4242", "kill 4242"),
    (with_card(5, used=38 * GIB), "blocker", "DR105", "GPU 5 holds 38.0 GiB of no process", "--gpu-reset -i 5"),
    (with_card(5, free=60 * GIB), "blocker", "DR106", "GPU 5 has 60.0 GiB free, another one 95.5 GiB", "DR105"),
    (
        replace(FACTS, cards=replace(CARDS, cards=tuple(replace(c, free=60 * GIB) for c in CARDS.cards))),
        "warning",
        "DR106",
        "GPU 4 has 60.0 GiB free of 96.0 GiB: SGLang takes its fraction of what is free",
        "DR105",
    ),
    (with_card(1, mig=True), "blocker", "DR107", "GPU 1 is cut into MIG slices", "-mig 0"),
    (with_card(1, compute_mode="exclusive"), "blocker", "DR107", "takes one process", "-c 0"),
    (with_card(1, persistence=False), "note", "DR107", "persistence mode is off", "-pm 1"),
    (with_card(3, rows_failed=True), "blocker", "DR111", "cannot be replaced", "ROW_REMAPPER"),
    (with_card(3, rows_pending=True), "warning", "DR111", "waits for a reset", "--gpu-reset -i 3"),
    (with_card(3, uncorrected=2), "warning", "DR111", "2 memory errors", "--gpu-reset"),
    (
        replace(FACTS, xids=(Xid("0000:15:00.0", 79, "pid=1", 60.0), Xid("0000:15:00.0", 79, "pid=1", 7500.0))),
        "warning",
        "DR112",
        "GPU 5: Xid 79 (fell off the bus) 2 times, last 2:05 h after boot",
        "dmesg",
    ),
    (
        replace(FACTS, xids=(Xid("0000:99:00.0", 31, "MMU", 5),)),
        "note",
        "DR112",
        "at 0000:99:00.0: Xid 31 (MMU) once, 5 s",
        "",
    ),
    (replace(FACTS, xids="/dev/kmsg: Operation not permitted"), "note", "DR112", "cannot be read", "sudo dmesg"),
    (with_card(4, power_limit=450.0), "warning", "DR113", "GPU 4 is limited to 450 W of its 600 W", "-i 4 -pl 600"),
    (with_card(4, slowed=("heat",)), "warning", "DR114", "GPU 4 holds its clocks down now: heat", "TEMPERATURE"),
    (with_card(6, link=Link(8, 16, 1, 5, 5)), "warning", "DR201", "8 PCIe lanes of 16", "lspci -vvs 0000:16:00.0"),
    (
        with_card(6, link=Link(16, 16, 1, 3, 5)),
        "warning",
        "DR201",
        "can do PCIe 5, and its slot only PCIe 3",
        "firmware",
    ),
    (
        without_pairs((0, 1)),
        "warning",
        "DR202",
        "prefill-0: 1 of 6 pairs cannot reach each other (0-1: the chipset",
        "topo",
    ),
    (without_pairs((3, 4), (2, 5)), "warning", "DR202", "prefill -> decode: 2 of 16 pairs", "topo"),
    (
        with_plan(services=(a_service("prefill-0", (0, 1)), a_service("decode-0", (2, 3, 4, 5)))),
        "warning",
        "DR203",
        "decode-0 crosses sockets: 2,3 on node 0 and 4,5 on node 1",
        "gpus: 0-3     lie together (all: 0-3 on node 0, 4-7 on node 1)",
    ),
    (
        replace(FACTS, cards=replace(CARDS, cards=tuple(replace(c, numa=None) for c in CARDS.cards))),
        "note",
        "DR203",
        "neither Linux nor the driver says",
        None,
    ),
    (
        replace(FACTS, paths=Paths(WAYS, (), (), {"0000:10:00.0": "DMA-FQ", "0000:11:00.0": "identity"})),
        "warning",
        "DR204",
        "the IOMMU translates for GPU 0",
        "iommu=pt",
    ),
    (
        replace(FACTS, paths=Paths(WAYS, ("0000:00:01.0",), (), {})),
        "warning",
        "DR204",
        "ACS sends",
        "ECAP_ACS+6.w=0000",
    ),
    (replace(FACTS, paths=Paths({}, (), (), {})), "note", "DR204", "cannot be read below /sys", None),
    (replace(FACTS, paths=UNREAD), "note", "DR204", "only root can read", "sudo pdlaunch doctor"),
    (software(cuda=None), "blocker", "DR301", "was built without CUDA", "CUDA wheels"),
    (
        replace(FACTS, cards=replace(CARDS, driver="570.86.15", cuda="12.8")),
        "blocker",
        "DR301",
        "driver 570.86.15 is too old for CUDA 13.0",
        "install driver 580 or newer",
    ),
    (software(cuda="13.2"), "note", "DR301", "knows CUDA up to 13.0; torch is built for 13.2", "newer driver"),
    (software(nixl={"nixl-cu12": "1.5.1"}), "warning", "DR302", "nixl-cu12 1.5.1 stands beside", "nixl-cu13==1.5.1"),
    (
        software(wheels={"nvidia-nccl-cu12": "2.27", "nvidia-cublas-cu12": "12", "nvidia-nvshmem-cu13": "3"}),
        "warning",
        "DR302",
        "nvidia-cublas-cu12 and 1 more stand beside torch for CUDA 13.0",
        "pip uninstall nvidia-cublas-cu12 nvidia-nccl-cu12",
    ),
    (replace(FACTS, toolkit="12.8"), "warning", "DR302", "nvcc is of CUDA 12.8", "CUDA 13"),
    (without("ninja"), "blocker", "DR303", "ninja is not on the services' PATH: kernels cannot", "pip install ninja"),
    (without("ninja", kernels=True), "warning", "DR303", "kernels of earlier starts are kept", "pip install ninja"),
    (without("numactl"), "warning", "DR303", "numactl is not on", "apt-get install numactl"),
    (
        replace(FACTS, imported=Ran("python -c x", False, "ModuleNotFoundError: No module named 'triton'", 1.0)),
        "blocker",
        "DR304",
        "the engine does not load: ModuleNotFoundError",
        "python -c x",
    ),
    (
        replace(FACTS, router=Ran("python -c y", False, "gone", 0.1)),
        "blocker",
        "DR305",
        "the router does not load",
        "pip",
    ),
    (
        listening(31010, deployment=""),
        "blocker",
        "DR401",
        "port 31010 (decode-0 http): taken by pid 4242",
        "kill 4242",
    ),
    (listening(31010, deployment="old"), "blocker", "DR401", "31010", "pdlaunch down -d old"),
    (
        listening(8000, None),
        "blocker",
        "DR401",
        "8000 (router http): taken by a process of another user",
        "ss -ltnp",
    ),
    (
        with_plan(services=(PREFILL, a_service("router", port=40000))),
        "warning",
        "DR401",
        "ports 40000 lie in 32768-60999",
        "ip_local_reserved_ports=40000",
    ),
    (limited(8 << 20), "warning", "DR402", "may pin 8 MiB (from this shell)", "ulimit -l"),
    (
        replace(FACTS, daemon=Limits((8 << 20,) * 2, (1024, 1 << 20), False)),
        "warning",
        "DR402",
        "running supervisord",
        "down",
    ),
    (limited(-1, 4096), "warning", "DR402", "may open 4096 files", "ulimit -Hn 65535"),
    (limited(-1, 20000), "note", "DR402", "may open 20000 files", "ulimit -Hn 65535"),
    (
        replace(limited(8 << 20), root=False, plan=with_plan(backend="systemd").plan),
        "warning",
        "DR402",
        "the user's manager",
        "drop-in of user@.service",
    ),
    (replace(FACTS, shared=64 << 20), "warning", "DR403", "has 64 MiB", "--shm-size"),
    (replace(FACTS, shared=None), "warning", "DR403", "there is no /dev/shm", None),
    (folders("state", 100 << 20), "blocker", "DR404", "100 MiB are free for /state", "pdlaunch prune"),
    (folders("cache", GIB), "warning", "DR404", "1.0 GiB are free for /cache", "df -h /cache"),
    (folders("state", readonly=True), "blocker", "DR404", "read-only", "mount"),
    (folders("temporary", noexec=True), "blocker", "DR405", "nothing can be executed from /temporary", "remount,exec"),
    (replace(folders("temporary", noexec=True), nodes=1), "note", "DR405", "nothing can be executed", "remount,exec"),
    (folders("temporary", 10 << 20), "warning", "DR405", "10 MiB are free in /temporary", "du -sh"),
    (
        broken("NIXL_ERR_BACKEND", "no active messages transport to x"),
        "blocker",
        "DR501",
        "decode-0: NIXL_ERR",
        "add tcp",
    ),
    (broken("the bytes that arrived are not those"), "blocker", "DR501", "the bytes that arrived", "UCX_*"),
    (
        replace(FACTS, transferred=SLOW),
        "warning",
        "DR501",
        "0.3 GB/s over tcp/lo, GPU memory: not from card",
        "cuda_ipc",
    ),
    (
        replace(FACTS, floor=50e9),
        "blocker",
        "DR501",
        "33.6 GB/s over cuda_ipc/cuda, GPU memory, below the profile's",
        "floor",
    ),
    (weights(("model-3.safetensors",)), "blocker", "DR601", "/models/m lacks model-3.safetensors", "download it again"),
    (weights(broken=(("a", "is empty: 0 bytes"),)), "blocker", "DR601", "/models/m/a is empty: 0 bytes", "download"),
    (
        weights(unfinished=5),
        "warning",
        "DR601",
        "not finished: 0.incomplete, 1.incomplete, 2.incomplete and 2 more",
        None,
    ),
    (
        replace(FACTS, weights=Weights("/models/m", False, 0, 0, (), (), ())),
        "blocker",
        "DR601",
        "there is no /models/m",
        "ls",
    ),
    (replace(FACTS, weights=Weights("org/m", False, 0, 0, (), (), ())), "note", "DR601", "may download it", None),
]


def test_a_box_in_full_health_is_ok_in_every_check() -> None:
    verdict = judge(FACTS, TODAY)
    assert {finding.level for finding in verdict.findings} == {"ok"}, verdict.of("blocker") + verdict.of("warning")
    assert verdict.left_out == ()
    assert {finding.code for finding in verdict.findings} == {check.code for check in CHECKS}


@pytest.mark.parametrize(
    ("facts", "level", "code", "text", "fix"), CASES, ids=lambda v: v if isinstance(v, str) else ""
)
def test_what_is_wrong_is_found(facts: Facts, level: str, code: str, text: str, fix: str | None) -> None:
    found = [f for f in judge(facts, TODAY).findings if f.code == code and f.level == level]
    assert any(text in f.text and (not fix or fix in (f.fix or "")) for f in found), judge(facts, TODAY).findings
    fine = any(f.code == code and f.level == "ok" for f in judge(facts, TODAY).findings)
    assert not fine or level == "note" or code == "DR101", "the same check calls it well"


def test_every_check_has_a_case_in_which_it_objects() -> None:
    objecting = {code for _, level, code, _, _ in CASES if level in ("blocker", "warning")}
    assert objecting == {check.code for check in CHECKS}


def test_codes_are_unique_and_every_check_names_its_source() -> None:
    codes = [check.code for check in CHECKS]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"DR\d{3}", check.code) and check.title and check.source for check in CHECKS)


def every_finding() -> Iterator[tuple[str, str]]:
    for facts, *_ in CASES:
        for check in CHECKS:
            if check.makes_sense(facts) is None:
                yield from ((check.code, finding.code) for finding in check.judge(facts))


def test_a_finding_carries_the_code_of_its_check() -> None:
    assert all(own == said for own, said in every_finding())


def test_the_worst_comes_first() -> None:
    facts = replace(without("ninja", "numactl"), xids="no")
    levels = [finding.level for finding in judge(facts, TODAY).findings]
    assert levels[:3] == ["blocker", "warning", "note"]
    assert set(levels[3:]) == {"ok"}


def test_a_waiver_makes_a_note_of_it_up_to_its_last_day() -> None:
    facts = replace(waived("DR303", TODAY), tools={"ninja": None})
    (note,) = (finding for finding in judge(facts, TODAY).findings if finding.code == "DR303")
    assert note.level == "note"
    assert note.text.endswith("allowed by anna until 2026-12-01: a bench box")
    (blocker,) = (f for f in judge(facts, TODAY + dt.timedelta(days=1)).findings if f.code == "DR303")
    assert blocker.level == "blocker"


def test_the_deployments_own_processes_are_nobody_s_leftovers() -> None:
    facts = replace(held(5, deployment="box", service="decode-0"), ours=frozenset({4242}))
    said = judge(facts, TODAY)
    assert said.of("blocker") == ()
    assert "nobody but this deployment is on GPUs 0-7" in [finding.text for finding in said.findings]


def test_a_container_that_hides_our_own_processes_is_no_blocker() -> None:
    """There the driver counts in the host's pids, or shows none at all."""
    facts = replace(held(5, pid=999_999), ours=frozenset({17}), containers=True)
    assert judge(facts, TODAY).of("blocker") == ()
    hidden = replace(with_card(5, used=80 * GIB, free=16 * GIB), ours=frozenset({17}))
    assert judge(hidden, TODAY).of("blocker") == ()


def test_all_ports_that_one_deployment_holds_are_one_finding() -> None:
    held = {port: Listener(port, port, "x") for port in (31000, 31010)}
    owners = {**who(31000, "old", "prefill-0"), **who(31010, "old", "decode-0")}
    facts = replace(FACTS, ports=Ports(held, (32768, 60999), frozenset(), owners))
    (finding,) = judge(facts, TODAY).of("blocker")
    assert finding.text.startswith("ports 31000 (prefill-0 http), 31010 (decode-0 http): taken by deployment old, pid ")
    assert finding.fix == "pdlaunch down -d old     or write other ports in the profile"


def test_kept_ports_are_not_drawn() -> None:
    facts = with_plan(services=(PREFILL, a_service("router", port=40000)))
    assert facts.ports
    facts = replace(facts, ports=replace(facts.ports, kept=frozenset({40000})))
    assert judge(facts, TODAY).of("warning") == ()


@pytest.mark.parametrize(
    ("changes", "code", "why"),
    [
        ({"engine": EngineUse(kind="simulator", version="1")}, "DR501", "the simulator moves no KV cache"),
        ({"engine": EngineUse(kind="cpu", version="0.5.23")}, "DR105", "the CPU engine uses no card"),
        ({"transfer": "mooncake"}, "DR501", "only NIXL is measured, and this deployment moves by mooncake"),
        ({"services": (PREFILL, ROUTER)}, "DR501", "an aggregated deployment moves nothing"),
    ],
)
def test_what_makes_no_sense_is_left_out_and_said(changes: dict[str, object], code: str, why: str) -> None:
    left = {out.code: out.why for out in judge(with_plan(**changes), TODAY).left_out}
    assert left[code] == why


def test_a_machine_alone_is_judged_without_a_profile() -> None:
    verdict = judge(replace(FACTS, plan=None), TODAY)
    assert {out.why for out in verdict.left_out} == {"no profile or deployment was named"}
    assert {"DR101", "DR201", "DR202", "DR403"} <= {finding.code for finding in verdict.findings}


def test_up_makes_the_quick_checks_alone() -> None:
    made = {finding.code for finding in judge(FACTS, TODAY, before_up=True).findings}
    assert made == {check.code for check in CHECKS if check.before_up}
    assert not made & {"DR304", "DR305", "DR401", "DR501"}


def test_the_simulator_needs_no_locked_memory() -> None:
    facts = replace(limited(8 << 20), plan=with_plan(engine=EngineUse(kind="simulator", version="1")).plan)
    assert {out.code: out.why for out in judge(facts, TODAY).left_out}["DR402"] == "the simulator pins nothing"
