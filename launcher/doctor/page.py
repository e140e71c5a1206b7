"""Generates docs/doctor.md from the checks.

Run as ``python -m launcher.doctor.page`` in a checkout. A test compares the file with what this returns.
"""

from __future__ import annotations

from pathlib import Path

from launcher.doctor.checks import CHECKS

PAGE = Path(__file__).parents[2] / "docs" / "doctor.md"
_INTRO = """\
# Doctor

Generated from the checks by `python -m launcher.doctor.page`.

    pdlaunch doctor profiles/dsv4-flash.yaml     # this machine, for that profile or lock
    pdlaunch doctor -d dsv4-flash                # for a deployment; without -d, for the only one
    pdlaunch doctor                              # where there is none: the machine by itself
    pdlaunch doctor --gpu 5                      # one card: who is on it, and how to free it
    pdlaunch doctor --deep                       # import the engine as well, up to a minute

Findings come worst first, each with what to paste. A **blocker** names what makes a start fail, or serve something else
than was asked for; with one, the exit code is 1. A **warning** costs speed or safety, a **note** is worth knowing. What
makes no sense for the engine, or cannot be asked on this machine, is left out, and the last lines say so. `--json` has
the same for programs.

The cards are asked through NVIDIA's own library (NVML), in a process of its own and for at most 20 s: a driver that
hangs holds nobody up.

**The transfer is a real one.** Two processes of the engine's own Python get the environment of the first prefill and of
the first decode, as the user that serves; one writes 32 MiB four times over NIXL into the other's memory, and all bytes
are compared. The memory is the cards' where the profile has cards, taken from torch as SGLang takes it, else the
host's; the line says which. The transport is the one that UCX names for writes to the other process, so that a list
which allows `cuda_ipc` and falls back to `tcp` does not pass unseen. What must be reached stands in the profile:

```yaml
transfer: {kind: nixl, floor: 12GB/s}
```

Between cards, it was not run by this project: there was no machine with cards to run it on.

**`up` asks too**, before it stops anything, and ends with exit code 1 where a blocker is found: the checks that are
marked below. That takes a millisecond without cards, and with them what the driver takes to answer. The transfer, the
imports and the ports are not among them: the start itself tries those. Rollback, restart and boot ask nothing. Who
knows better writes the check's code into the profile's one list of waivers; the finding is a note then, and names the
waiver:

```yaml
allow:
  - {what: DR105, why: "the monitor of ours takes 2 GiB", by: anna, until: 2027-01-31}
```

| code | what must hold | `up` | source |
|---|---|---|---|
"""


def page() -> str:
    """The page: how to ask, and every check in a row."""
    rows = [f"| {c.code} | {c.title} | {'yes' if c.before_up else ''} | {c.source} |" for c in CHECKS]
    return _INTRO + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
