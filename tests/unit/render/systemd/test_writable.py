"""What a service may write."""

from __future__ import annotations

from pathlib import Path

from launcher.render.systemd.writable import writable

from ...plan.making import service
from .making import layout, shipped_plan, written

PROFILE = """\
name: six
model: /data/models/six
engine:
  venv: /opt/sglang/venv
  args: {crash-dump-folder: /data/dumps, chat-template: /etc/templates/a.jinja}
  env: {NCCL_TOPO_FILE: /data/models/six/topo.xml, MY_PATHS: "/a:/b", TORCH_PROFILE: /var/cache/pdlaunch/x}
prefill: {gpus: 0-3}
decode: {gpus: 4-7}
router: {port: 8000}
knobs:
  MY_PATHS: {safe: any, why: a test}
  TORCH_PROFILE: {safe: any, why: a test}
"""


def test_only_the_usual_folders_for_a_plan_that_names_no_other() -> None:
    plan = shipped_plan()
    for each in plan.services:
        assert writable(plan, each, layout("dsv4-flash")) == (
            "/tmp",
            "/var/tmp",
            "/var/cache/pdlaunch",
            "/var/lib/sglang",
        )


def test_what_a_value_names_but_neither_the_model_nor_the_system(tmp_path: Path) -> None:
    plan = written(tmp_path, PROFILE)
    found = writable(plan, service(plan, "decode-0"), layout("six"))
    assert found == ("/tmp", "/var/tmp", "/var/cache/pdlaunch", "/var/lib/sglang", "/data/dumps")
