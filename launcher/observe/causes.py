"""Probable causes: what an error line in a server's log most often means."""

from __future__ import annotations

import re

_CAUSES = (
    (
        r"CUDA out of memory|OutOfMemoryError|cannot allocate",
        "the card has too little free memory: `pdlaunch doctor` says who holds it; only then mem-fraction-static",
    ),
    (r"[Aa]ddress already in use|Errno 98", "another process holds the port"),
    (r"No module named|ModuleNotFoundError|ImportError", "the serving environment lacks a package"),
    (r"unrecognized arguments|invalid choice|ambiguous option|error: argument", "the engine's parser refuses a flag"),
    (
        r"NIXL_ERR_BACKEND",
        "NIXL has no transport to start with: UCX_TLS needs tcp for the wire-up, UCX_NET_DEVICES a device that exists",
    ),
    (r"No space left on device", "a disk is full"),
    (r"divisible by|[Nn]ot divisible", "a size does not fit the page size or the parallel sizes"),
    (
        r"config\.json|does not appear to have a file named|Can't load|not a local folder|Repo id must be",
        "the model's files are incomplete or not there",
    ),
    (
        r"[Nn]inja is required|nvcc|ninja: ",
        "a build tool is missing from PATH: kernels cannot be compiled (`pdlaunch doctor`)",
    ),
    (r"exit code:? -9|signal 9|Killed", "it was killed from outside, often by the kernel for memory: see `dmesg`"),
    (r"exit code:? -15|SIGTERM", "it was told to end from outside"),
)


def probable_cause(text: str) -> str | None:
    """The first cause whose signs are in `text`, or None."""
    return next((cause for signs, cause in _CAUSES if re.search(signs, text)), None)
