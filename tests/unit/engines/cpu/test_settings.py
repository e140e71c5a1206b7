from __future__ import annotations

import pytest

from launcher.engines import CPU_ENGINE_ARGS, CPU_ENGINE_ENV
from launcher.engines.cpu.layer import SWITCH


@pytest.mark.parametrize("settings", [CPU_ENGINE_ARGS, CPU_ENGINE_ENV])
def test_every_setting_has_its_reason(settings: dict[str, tuple[str, str]]) -> None:
    assert [name for name, (_, why) in settings.items() if not why.strip()] == []
    assert [name for name in settings if name.startswith("-")] == []


def test_the_environment_switches_the_layer_on() -> None:
    assert CPU_ENGINE_ENV[SWITCH][0] == "1"
