"""What the shipped profiles become, kept as files: a change of a plan is seen as a change of these.

After a wanted change: ``PDLAUNCH_UPDATE_GOLDEN=1 pytest tests/unit/plan/test_golden.py``, then read the difference.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from launcher.plan import Environment, Facts, Plan, resolve
from launcher.profile import load
from launcher.render import Layout, render
from launcher.shipped import shipped

from .making import ENGINE, FACTS, MACHINE

GOLDEN = Path(__file__).parents[2] / "golden"
CPU = Facts(
    machine=MACHINE.model_copy(update={"gpus": None, "driver": None, "cuda": None}),
    engine=ENGINE.model_copy(update={"python": "/var/lib/pdlaunch/engines/cpu/venv/bin/python", "cuda": None}),
    router=ENGINE.model_copy(update={"python": "/var/lib/pdlaunch/engines/cpu/venv/bin/python"}),
    model_path="/var/lib/pdlaunch/engines/cpu/model",
    snapshot="41ab9d07",
)
SIM = CPU.model_copy(update={"engine": Environment(python=MACHINE.python, version="0.1.0"), "model_path": None})
FACTS_OF = {"dsv4-flash": FACTS, "dsv4-flash-aggregated": FACTS, "cpu-tiny": CPU, "sim": SIM}


def files_of(name: str) -> dict[str, str]:
    """The serve scripts of a shipped profile, and the rest of its plan as JSON."""
    plan: Plan = resolve(load(shipped("profiles") / f"{name}.yaml"), FACTS_OF[name])
    state = Path("/var/lib/pdlaunch") / name
    layout = Layout(deployment=name, state=state, cache=Path("/var/cache/pdlaunch"), run=Path("/run/pdlaunch") / name)
    scripts = {s.name + ".sh": render(plan, layout).files[s.name + ".sh"].text for s in plan.services}
    outside = {"name", "role", "gpus", "host", "ports", "user", "reserved"}
    rest = plan.model_dump(mode="json", exclude={"services"})
    rest["services"] = [s.model_dump(mode="json", include=outside) for s in plan.services]
    return {**scripts, "plan.json": json.dumps(rest, indent=1) + "\n"}


def test_every_shipped_profile_has_its_golden_files() -> None:
    assert {path.stem for path in shipped("profiles").glob("*.yaml")} == FACTS_OF.keys()
    assert {path.name for path in GOLDEN.iterdir()} == FACTS_OF.keys()


@pytest.mark.parametrize("name", FACTS_OF)
def test_golden(name: str) -> None:
    found, folder = files_of(name), GOLDEN / name
    if os.environ.get("PDLAUNCH_UPDATE_GOLDEN") == "1":
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        for file, text in found.items():
            (folder / file).write_text(text)
    assert {path.name for path in folder.iterdir()} == found.keys()
    for file, text in found.items():
        assert (folder / file).read_text() == text, f"{folder / file}: see how to update it in {__file__}"
