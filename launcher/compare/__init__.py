"""What differs between two states of a deployment, and how dangerous that is."""

from typing import TYPE_CHECKING

from launcher.compare.change import Change, Setting
from launcher.compare.differences import Difference, Differences, Judge, differences
from launcher.compare.risk import Risk, risk_of
from launcher.compare.section import Section
from launcher.compare.settings import changes
from launcher.compare.side import CheckoutTree, Edited, Side, SnapshotTree, Tree, UnknownTree
from launcher.compare.source import Edit, patch
from launcher.doors import later

if TYPE_CHECKING:
    from launcher.compare.said import Said, SaidOfValue, judge_of, said_of

__all__ = [
    "Change",
    "CheckoutTree",
    "Difference",
    "Differences",
    "Edit",
    "Edited",
    "Judge",
    "Risk",
    "Said",
    "SaidOfValue",
    "Section",
    "Setting",
    "Side",
    "SnapshotTree",
    "Tree",
    "UnknownTree",
    "changes",
    "differences",
    "judge_of",
    "patch",
    "risk_of",
    "said_of",
]

__getattr__ = later(__name__, dict.fromkeys(("Said", "SaidOfValue", "judge_of", "said_of"), "said"))
