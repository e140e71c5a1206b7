"""Profile and facts in, plan out: the resolved deployment, each value with its origin."""

from typing import TYPE_CHECKING

from launcher.doors import later
from launcher.plan.model import DIGEST, MARK, Argument, Origin, Plan, Secret, Service, Variable

if TYPE_CHECKING:
    from launcher.plan.facts import Environment, Facts, MachineFacts
    from launcher.plan.resolving import resolve

__all__ = [
    "DIGEST",
    "MARK",
    "Argument",
    "Environment",
    "Facts",
    "MachineFacts",
    "Origin",
    "Plan",
    "Secret",
    "Service",
    "Variable",
    "resolve",
]

__getattr__ = later(
    __name__, {**dict.fromkeys(("Environment", "Facts", "MachineFacts"), "facts"), "resolve": "resolving"}
)
