"""What comes back at boot: one unit that names one generation, so that one rename decides between two whole ones.

The links that enable it are made here and not by `systemctl enable`, which has the manager read everything anew: that
takes time, and forgets how often a service was started already.
"""

from __future__ import annotations

import contextlib
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
    path, link = systemctl.units / name, _link(systemctl, name)
    if placing.read(path) != text:
        placing.put(path, text)
    if not link.is_symlink():
        with in_words(link):
            link.parent.mkdir(exist_ok=True)
            with contextlib.suppress(FileExistsError):
                link.symlink_to(path)


def forget(systemctl: Systemctl, layout: Layout) -> None:
    """Have a boot bring back nothing of the deployment."""
    name = boot_unit(layout.deployment)
    for path in (_link(systemctl, name), systemctl.units / name):
        with in_words(path):
            path.unlink(missing_ok=True)


def at_boot(systemctl: Systemctl, layout: Layout) -> int | None:
    """The generation that a boot brings back; None for none."""
    name = boot_unit(layout.deployment)
    text = placing.read(systemctl.units / name) if _link(systemctl, name).is_symlink() else None
    return brought_back(text) if text else None


def _link(systemctl: Systemctl, name: str) -> Path:
    return systemctl.units / f"{systemctl.boot_target}.wants" / name
