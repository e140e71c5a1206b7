"""Rules: settings against each other, names and values against what an engine knows, and against what was declared.

A rule is one small function with its code, its source, and a good and a bad example.
"""

from typing import TYPE_CHECKING

from launcher.doors import later

if TYPE_CHECKING:
    from launcher.rules.declared import Known, check_declared
    from launcher.rules.judging import RULES, judge, judge_profile
    from launcher.rules.names import check_names
    from launcher.rules.rule import Hit, Rule
    from launcher.rules.simulated import simulator_knobs
    from launcher.rules.typed import check_values
    from launcher.rules.view import ServiceView, View

__all__ = [
    "RULES",
    "Hit",
    "Known",
    "Rule",
    "ServiceView",
    "View",
    "check_declared",
    "check_names",
    "check_values",
    "judge",
    "judge_profile",
    "simulator_knobs",
]

__getattr__ = later(
    __name__,
    {
        **dict.fromkeys(("Known", "check_declared"), "declared"),
        **dict.fromkeys(("RULES", "judge", "judge_profile"), "judging"),
        "check_names": "names",
        **dict.fromkeys(("Hit", "Rule"), "rule"),
        "simulator_knobs": "simulated",
        "check_values": "typed",
        **dict.fromkeys(("ServiceView", "View"), "view"),
    },
)
