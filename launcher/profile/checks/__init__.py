"""What is wrong with a profile by itself: no machine, engine or date is asked."""

from launcher.profile.checks.cards import check_cards
from launcher.profile.checks.flags import check_flags
from launcher.profile.checks.parts import check_parts
from launcher.profile.checks.ports import check_ports
from launcher.profile.checks.variables import check_variables

CHECKS = (check_parts, check_cards, check_ports, check_flags, check_variables)
"""Each takes the profile and its lines and yields what it finds."""

__all__ = ["CHECKS"]
