"""Reads an engine's source by its syntax tree; nothing in here imports or runs the engine."""
