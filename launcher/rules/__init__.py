"""Cross-setting rules: one small function each, with code, citation, and a good and a bad example."""

from launcher.rules.judging import RULES, judge, judge_profile
from launcher.rules.rule import Hit, Rule
from launcher.rules.view import ServiceView, View

__all__ = ["RULES", "Hit", "Rule", "ServiceView", "View", "judge", "judge_profile"]
