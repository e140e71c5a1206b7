"""What comes back at boot: one unit that names one generation, so that one rename decides between two whole ones."""

from __future__ import annotations

from pathlib import Path

from launcher.backends.files import in_words
from launcher.backends.systemd import placing
from launcher.backends.systemd.systemctl import Systemctl
from launcher.render import Layout
from launcher.render.systemd.lasting import boot_text, boot_unit, brought_back


def remember(systemctl: Systemctl, layout: Layout, generation: Path) -> None:
    """Have a boot bring back `generation`; raises PdlaunchError where the system refuses."""
    name = boot_unit(layout.deployment)
    text = boot_text(layout.deployment, generation, systemctl.boot_target)
    path = systemctl.units / name
    if placing.read(path) != text:
        placing.put(path, text)
    if not _wants(systemctl, name).is_symlink():
        systemctl("enable", "--quiet", name)


def forget(systemctl: Systemctl, layout: Layout) -> None:
    """Have a boot bring back nothing of the deployment."""
    name = boot_unit(layout.deployment)
    path = systemctl.units / name
    if not path.exists() and not _wants(systemctl, name).is_symlink():
        return
    if systemctl.reachable:
        systemctl("disable", "--quiet", name)
    with in_words(path):
        _wants(systemctl, name).unlink(missing_ok=True)
        path.unlink(missing_ok=True)


def at_boot(systemctl: Systemctl, layout: Layout) -> int | None:
    """The generation that a boot brings back; None for none."""
    name = boot_unit(layout.deployment)
    text = placing.read(systemctl.units / name) if _wants(systemctl, name).is_symlink() else None
    return brought_back(text) if text else None


def _wants(systemctl: Systemctl, name: str) -> Path:
    return systemctl.units / f"{systemctl.boot_target}.wants" / name
