"""What Prometheus is told to scrape."""

from __future__ import annotations

import json
from pathlib import Path

from launcher.operations.targets import forget_targets, targets, targets_file, write_targets
from launcher.profile import Watch

from ..plan.making import SIX, planned
from ..store.making import a_layout, a_plan, a_service


def test_engines_router_and_watcher_each_with_its_labels(tmp_path: Path) -> None:
    six = {"deployment": "six"}
    assert targets(planned(tmp_path, SIX)) == (
        _group("127.0.0.1:31000", job="pdlaunch-engine", service="prefill-0", role="prefill", **six),
        _group("127.0.0.1:31010", job="pdlaunch-engine", service="decode-0", role="decode", **six),
        _group("127.0.0.1:31020", job="pdlaunch-router", service="router", role="router", **six),
        _group("127.0.0.1:31021", job="pdlaunch-watch", **six),
    )


def _group(address: str, **labels: str) -> dict[str, object]:
    return {"targets": [address], "labels": labels}


def test_what_has_no_page_of_metrics_is_left_out_and_addresses_can_be_reached() -> None:
    decode = a_service("decode-0").model_copy(update={"host": "::", "ports": {"http": 31000}})
    plan = a_plan(decode, a_service("router")).model_copy(update={"watch": Watch()})
    (only,) = targets(plan)
    assert only["targets"] == ["[::1]:31000"]


def test_the_file_comes_and_goes(tmp_path: Path) -> None:
    layout, plan = a_layout(tmp_path), planned(tmp_path, SIX)
    layout.state.mkdir(parents=True)
    forget_targets(layout)
    write_targets(layout, plan)
    path = targets_file(layout)
    assert path == layout.state.parent / "tiny.targets.json"
    assert json.loads(path.read_text()) == list(targets(plan))
    forget_targets(layout)
    assert not path.exists()
