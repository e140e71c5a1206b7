"""Profile and facts in, plan out: the resolved deployment, each value with its origin."""

from launcher.plan.facts import Environment, Facts, MachineFacts
from launcher.plan.model import DIGEST, MARK, Argument, Origin, Plan, Secret, Service, Variable
from launcher.plan.resolve import resolve

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
