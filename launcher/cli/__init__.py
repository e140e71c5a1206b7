"""The command line. What is asked most often and needs nothing (`--help`, `--version`, TAB) is answered at once."""

from __future__ import annotations

import gc
import os
import sys

_ASKED_BY_A_SHELL = "_PDLAUNCH_COMPLETE"


def main() -> None:
    """The entry point of the command `pdlaunch`."""
    words = sys.argv[1:]
    if os.environ.get(_ASKED_BY_A_SHELL) or words[:1] == ["--show-completion"]:
        from launcher.cli import completing

        sys.exit(completing.main(words))
    if words in ([], ["--help"], ["-h"]):
        from launcher.cli.front import print_help

        print_help()
        return
    if words == ["--version"]:
        from launcher import __version__

        sys.stdout.write(f"pdlaunch {__version__}\n")
        return
    # A command makes many objects while it loads and lets go of few: collecting all the time costs it a tenth.
    gc.set_threshold(150_000)
    # Looking for plug-ins of pydantic's reads the metadata of every installed package; we have none.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from launcher.cli.app import run

    sys.exit(run(words))
