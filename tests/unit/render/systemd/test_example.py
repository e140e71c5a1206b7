"""The example in deploy/systemd is what the shipped profile becomes.

After a wanted change: ``PDLAUNCH_UPDATE_GOLDEN=1 pytest tests/unit/render/systemd``, then read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

from launcher.render.systemd.lasting import boot_text, boot_unit

from .making import layout, shipped_plan, units

EXAMPLE = Path(__file__).parents[4] / "deploy/systemd/dsv4-flash"


def test_the_example_is_current() -> None:
    generation = layout("dsv4-flash").generation(37)
    boot = boot_text("dsv4-flash", generation, "multi-user.target")
    wanted = {**units(shipped_plan()), boot_unit("dsv4-flash"): boot}
    if os.environ.get("PDLAUNCH_UPDATE_GOLDEN") == "1":
        EXAMPLE.mkdir(exist_ok=True)
        for old in EXAMPLE.iterdir():
            old.unlink()
        for name, text in wanted.items():
            (EXAMPLE / name).write_text(text)
    assert {path.name: path.read_text() for path in EXAMPLE.iterdir()} == wanted
