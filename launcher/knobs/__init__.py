"""The room of knobs: what an engine's flags and variables are, read from its source without importing it."""

from launcher.knobs.changes import Change, env_changes, flag_changes
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
from launcher.knobs.harvest.engine import declarations, harvest, harvest_router
from launcher.knobs.lookup import Abbreviation, Unknown, compiled_at, find_env, find_flag, flipped, nearest

__all__ = [
    "Abbreviation",
    "Change",
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
    "compiled_at",
    "declarations",
    "env_changes",
    "find_env",
    "find_flag",
    "flag_changes",
    "flipped",
    "harvest",
    "harvest_router",
    "nearest",
]
