"""What differs between two states of a deployment, and how dangerous that is."""

from launcher.compare.change import Change, Setting
from launcher.compare.differences import Difference, Differences, differences
from launcher.compare.risk import Risk, risk_of
from launcher.compare.section import Section
from launcher.compare.settings import changes
from launcher.compare.side import CheckoutTree, Edited, Side, SnapshotTree, Tree, UnknownTree
from launcher.compare.source import Edit, patch

__all__ = [
    "Change",
    "CheckoutTree",
    "Difference",
    "Differences",
    "Edit",
    "Edited",
    "Risk",
    "Section",
    "Setting",
    "Side",
    "SnapshotTree",
    "Tree",
    "UnknownTree",
    "changes",
    "differences",
    "patch",
    "risk_of",
]
