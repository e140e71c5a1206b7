from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test looks at this machine's own deployments and holds."""
    for name in ("state", "cache", "run", "holds"):
        monkeypatch.setenv(f"PDLAUNCH_{name.upper()}_DIR", str(tmp_path / name))
    for name in ("PDLAUNCH_BY", "SUDO_USER", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
