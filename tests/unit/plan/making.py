"""Profiles as text, and facts of a machine that is not this one."""

from __future__ import annotations

from pathlib import Path

from launcher.plan import Environment, Facts, MachineFacts, Plan, Service, resolve
from launcher.profile import load

PRO_6000 = "NVIDIA RTX PRO 6000 Blackwell Server Edition"
MACHINE = MachineFacts(
    home="/var/lib/sglang",
    user="sglang",
    python="/opt/pdlaunch/bin/python",
    gpus=(PRO_6000,) * 8,
    driver="595.71.05",
    cuda="/usr/local/cuda",
)
ENGINE = Environment(
    python="/opt/sglang/venv/bin/python",
    version="0.5.23",
    distributions={"sglang": "0.5.23", "torch": "2.13.0", "flashinfer-python": "0.5.1", "requests": "2.33.0"},
    cuda="13.0",
)
FACTS = Facts(machine=MACHINE, engine=ENGINE, router=ENGINE, snapshot="41ab9d07")

SIX = """\
name: six
model: /models/six
engine: {venv: /opt/sglang/venv}
prefill: {gpus: 0-3}
decode: {gpus: 4-7}
router: {port: 8000}
"""


def planned(folder: Path, text: str, facts: Facts = FACTS, name: str = "six.yaml") -> Plan:
    path = folder / name
    path.write_text(text)
    return resolve(load(path), facts)


def service(plan: Plan, name: str) -> Service:
    found = plan.service(name)
    assert found is not None, f"no {name} among {[s.name for s in plan.services]}"
    return found


def env(of: Service) -> dict[str, str]:
    """The values of a service's environment by name; a rooted one with its root in front."""
    return {v.name: f"{v.root}:{v.value}" if v.root else v.value for v in of.env}


def flags(of: Service) -> dict[str, str]:
    """The values of a service's flags by name, each flag once."""
    found: dict[str, str] = {}
    for argument in of.argv[1:]:
        name, *values = argument.words
        assert name not in found, name
        found[name] = " ".join(values)
    return found
