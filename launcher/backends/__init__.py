"""What drives services: one Protocol, and what implements it."""

from launcher.backends.processes import Proc
from launcher.backends.protocol import Backend, Unit, UnitState

__all__ = ["Backend", "Proc", "Unit", "UnitState"]
