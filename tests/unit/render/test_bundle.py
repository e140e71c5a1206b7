"""The files of a generation as a whole."""

from __future__ import annotations

import hashlib
from pathlib import Path

from launcher.plan import resolve
from launcher.plan.facts import Facts, MachineFacts
from launcher.profile import load
from launcher.render import Layout, render
from launcher.shipped import shipped

MACHINE = MachineFacts(home="/root", user="root", python="/usr/bin/python3")
LAYOUT = Layout(deployment="sim", state=Path("/state/sim"), cache=Path("/cache"), run=Path("/run/sim"))


def test_a_bundle_has_a_script_for_each_service_and_the_same_bytes_each_time() -> None:
    plan = resolve(load(shipped("profiles") / "sim.yaml"), Facts(machine=MACHINE))
    bundle = render(plan, LAYOUT)
    assert {"prefill-0.sh", "decode-0.sh", "router.sh", "supervisord/programs.conf"} <= bundle.files.keys()
    assert {name: file.mode for name, file in bundle.files.items() if name.endswith(".sh")}.items() >= {
        ("prefill-0.sh", 0o555),
        ("decode-0.sh", 0o555),
        ("router.sh", 0o555),
    }
    assert render(plan, LAYOUT).digests() == bundle.digests()
    text = bundle.files["router.sh"].text.encode()
    assert bundle.digests()["router.sh"] == hashlib.sha256(text).hexdigest()


def test_only_the_layout_brings_in_paths_of_this_machine() -> None:
    plan = resolve(load(shipped("profiles") / "sim.yaml"), Facts(machine=MACHINE))
    here, there = render(plan, LAYOUT), render(plan, LAYOUT.model_copy(update={"state": Path("/elsewhere/sim")}))
    assert here.files["decode-0.sh"].text.replace("/state/sim", "/elsewhere/sim").split() == (
        there.files["decode-0.sh"].text.split()
    )
