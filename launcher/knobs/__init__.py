"""The room of knobs: what an engine's flags and variables are, read from its source without importing it."""

from launcher.knobs.facts import (
    DynamicRead,
    EngineKnobs,
    EnvKnob,
    Flag,
    Note,
    Place,
    Read,
    Reader,
    Remark,
    Unevaluated,
    Value,
    Write,
)
from launcher.knobs.harvest.engine import declarations, harvest
from launcher.knobs.lookup import Abbreviation, Unknown, find_env, find_flag, nearest

__all__ = [
    "Abbreviation",
    "DynamicRead",
    "EngineKnobs",
    "EnvKnob",
    "Flag",
    "Note",
    "Place",
    "Read",
    "Reader",
    "Remark",
    "Unevaluated",
    "Unknown",
    "Value",
    "Write",
    "declarations",
    "find_env",
    "find_flag",
    "harvest",
    "nearest",
]
