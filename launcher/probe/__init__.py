"""Asking a deployment for tokens, and judging what comes back."""

from launcher.probe.tokens import NEW_TOKENS, Proof, Server, ask, ask_edges

__all__ = ["NEW_TOKENS", "Proof", "Server", "ask", "ask_edges"]
