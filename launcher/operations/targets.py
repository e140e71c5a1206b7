"""Tells Prometheus what there is to scrape: ``STATE_DIR/NAME.targets.json``, which its file discovery reads.

The form: https://prometheus.io/docs/prometheus/latest/configuration/configuration/#file_sd_config. It lies beside the
deployments' folders, since a pattern of file discovery may have its ``*`` in the last part of a path only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from launcher.observe.http import Endpoint, reachable
from launcher.plan import Plan
from launcher.render import Layout
from launcher.store.files import in_words, remove, replace

Group: TypeAlias = Mapping[str, object]


def targets(plan: Plan) -> tuple[Group, ...]:
    """Every page of metrics of a deployment, with the labels that its series get. Pure."""
    return tuple(_groups(plan))


def targets_file(layout: Layout) -> Path:
    """Where Prometheus finds them."""
    return layout.state.with_name(f"{layout.deployment}.targets.json")


def write_targets(layout: Layout, plan: Plan) -> None:
    """Put the targets of `plan` in the place of the former ones.

    Raises:
        PdlaunchError: the folder of all deployments cannot be written.
    """
    path = targets_file(layout)
    with in_words("write what Prometheus is to scrape", path.parent):
        replace(path, (json.dumps(targets(plan), indent=1) + "\n").encode())


def forget_targets(layout: Layout) -> None:
    """There is nothing to scrape any more, and nobody is to be woken for it.

    Raises:
        PdlaunchError: the folder of all deployments cannot be written.
    """
    path = targets_file(layout)
    with in_words("tell Prometheus that there is nothing to scrape", path.parent):
        if path.exists():
            remove(path)


def _groups(plan: Plan) -> Iterator[Group]:
    for service in plan.services:
        kind = "router" if service.role == "router" else "engine"
        port = service.ports.get("metrics") if kind == "router" else service.ports["http"]
        if port is not None:
            labels = {"job": f"pdlaunch-{kind}", "service": service.name, "role": service.role}
            yield _group(plan, service.host, port, labels)
    if plan.watch.metrics_port is not None:
        yield _group(plan, "127.0.0.1", plan.watch.metrics_port, {"job": "pdlaunch-watch"})


def _group(plan: Plan, host: str, port: int, labels: Mapping[str, str]) -> Group:
    address = Endpoint(reachable(host), port).url.removeprefix("http://")
    return {"targets": [address], "labels": {"deployment": plan.deployment, **labels}}
