"""Whether this machine can serve a deployment: checks, each a pure judgement over gathered facts."""

from launcher.doctor.check import Check
from launcher.doctor.checks import CHECKS
from launcher.doctor.facts import Facts, Ports, Ran, Software
from launcher.doctor.finding import LEVELS, Finding, LeftOut, Level
from launcher.doctor.judging import Verdict, judge

__all__ = [
    "CHECKS", "LEVELS", "Check", "Facts", "Finding", "LeftOut", "Level", "Ports", "Ran", "Software", "Verdict", "judge",
]  # fmt: skip
