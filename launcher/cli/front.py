"""The first page: what `pdlaunch --help` prints, kept beside the code so that no command must be loaded for it.

``help.txt`` is generated from the commands (`python -m launcher.cli.pages`); a test keeps it current.
"""

from __future__ import annotations

import sys
from pathlib import Path

HELP = Path(__file__).with_name("help.txt")


def print_help() -> None:
    """Print the first page."""
    sys.stdout.write(HELP.read_text(encoding="utf-8"))
