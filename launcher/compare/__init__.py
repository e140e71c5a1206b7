"""What differs between two states of a deployment."""

from launcher.compare.settings import Change, Setting, changes

__all__ = ["Change", "Setting", "changes"]
