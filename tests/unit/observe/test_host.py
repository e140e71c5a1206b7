from __future__ import annotations

from pathlib import Path

from launcher.lock.receipt import Gpu
from launcher.observe.cards import cards
from launcher.observe.host import LIMITS, SETTINGS, host

from ...nvml import Nvml

INFORMATION = """\
Model: \t\t NVIDIA RTX PRO 6000 Blackwell Server Edition
IRQ:   \t\t 312
GPU UUID: \t GPU-7d0e{index}
Bus Location: \t 0000:{bus}:00.0
"""


def files(root: Path, contents: dict[str, str]) -> None:
    for name, text in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def a_machine(root: Path) -> tuple[Path, Path]:
    files(
        root,
        {
            "proc/sys/kernel/hostname": "box\n",
            "proc/sys/kernel/osrelease": "6.8.0-40\n",
            "proc/sys/kernel/numa_balancing": "1\n",
            "proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n",
            "proc/cmdline": "ro iommu=pt token=secret quiet mitigations=off\n",
            "proc/cpuinfo": "processor\t: 0\nmodel name\t: AMD EPYC 9575F\n\nprocessor\t: 1\nmodel name\t: other\n",
            "proc/meminfo": "MemTotal:       1024 kB\nMemFree: 1 kB\n",
            "proc/7/limits": (
                "Limit                     Soft Limit           Hard Limit           Units     \n"
                "Max open files            1024                 1048576              files     \n"
                "Max locked memory         unlimited            unlimited            bytes     \n"
                "Max nice priority         0                    0                    \n"
            ),
            "proc/driver/nvidia/version": (
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  595.71.05  Release Build\n"
            ),
            "proc/driver/nvidia/gpus/0000:41:00.0/information": INFORMATION.format(index=1, bus=41),
            "proc/driver/nvidia/gpus/0000:01:00.0/information": INFORMATION.format(index=0, bus="01"),
            "sys/devices/system/node/node0/x": "",
            "sys/devices/system/node/node1/x": "",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        },
    )
    (root / "proc/driver/nvidia/gpus/0000:c1:00.0").mkdir()
    return root / "proc", root / "sys"


def test_a_machine_with_cards(tmp_path: Path) -> None:
    proc, sys = a_machine(tmp_path)
    found = host(7, proc=proc, sys=sys)
    model = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
    assert found.gpus == (
        Gpu(index=0, uuid="GPU-7d0e0", pci="0000:01:00.0", model=model),
        Gpu(index=1, uuid="GPU-7d0e1", pci="0000:41:00.0", model=model),
        Gpu(index=2, uuid=None, pci="0000:c1:00.0", model=None),
    )
    assert (found.name, found.kernel, found.driver, found.cpu) == ("box", "6.8.0-40", "595.71.05", "AMD EPYC 9575F")
    assert (found.numa_nodes, found.memory) == (2, 1024 * 1024)
    assert found.limits == {"open files": "1024 / 1048576", "locked memory": "unlimited"}
    assert found.settings == {
        "kernel/numa_balancing": "1",
        "net/ipv4/ip_local_port_range": "32768 60999",
        "boot/iommu": "pt",
        "boot/mitigations": "off",
        "transparent_hugepage": "madvise",
    }


def test_what_nvml_says_counts_before_the_drivers_folder(tmp_path: Path, nvml: Nvml) -> None:
    """A container often has the library and no folder."""
    nvml.box(count=2, top="driver 580.65.06")
    found = host(proc=tmp_path, sys=tmp_path, cards=cards())
    model = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
    assert found.driver == "580.65.06"
    assert found.gpus == tuple(
        Gpu(index=i, uuid=f"GPU-0000000{i}-0000-0000-0000-000000000000", pci=f"0000:1{i}:00.0", model=model)
        for i in range(2)
    )


def test_a_machine_that_says_nothing(tmp_path: Path) -> None:
    found = host(proc=tmp_path, sys=tmp_path)
    assert (found.name, found.driver, found.gpus, found.settings, found.limits) == ("unknown", None, (), {}, {})
    assert (found.numa_nodes, found.memory) == (1, 0)


def test_this_machine() -> None:
    found = host()
    assert found.memory > 2**20
    assert set(found.limits) == {name.removeprefix("Max ") for name in LIMITS}
    assert "vm/max_map_count" in found.settings


def test_every_setting_has_its_reason() -> None:
    assert all(name.startswith("sys/") and len(reason.split()) > 3 for name, reason in SETTINGS.items())
