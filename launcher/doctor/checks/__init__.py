"""The checks by subject; a new one is a function and its entry in one of these modules."""

from launcher.doctor.check import Check
from launcher.doctor.checks import cards, health, host, links, memory, model, software, transfer

CHECKS: tuple[Check, ...] = (
    *cards.CHECKS, *memory.CHECKS, *health.CHECKS, *links.CHECKS, *software.CHECKS, *host.CHECKS, *transfer.CHECKS,
    *model.CHECKS,
)  # fmt: skip
"""Every check, by code."""
