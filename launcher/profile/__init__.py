"""Profiles: the grammar, strict YAML with positions, and what each server is told."""

from launcher.profile.findings import Finding
from launcher.profile.lines import Lines
from launcher.profile.loading import Examined, Loaded, examine, faulty, load
from launcher.profile.merging import Merged, Written, settings_of
from launcher.profile.model import (
    ArgValue,
    Engine,
    EnvValue,
    Model,
    Profile,
    Ready,
    Replica,
    Restart,
    Role,
    Router,
    Settings,
    SiteKnob,
    Stop,
    Waiver,
    Watch,
)
from launcher.profile.quantities import seconds, tokens
from launcher.profile.servers import Server, servers
from launcher.profile.tree import Path
from launcher.profile.waivers import allows
from launcher.profile.waiving import waive

__all__ = [
    "ArgValue",
    "Engine",
    "EnvValue",
    "Examined",
    "Finding",
    "Lines",
    "Loaded",
    "Merged",
    "Model",
    "Path",
    "Profile",
    "Ready",
    "Replica",
    "Restart",
    "Role",
    "Router",
    "Server",
    "Settings",
    "SiteKnob",
    "Stop",
    "Waiver",
    "Watch",
    "Written",
    "allows",
    "examine",
    "faulty",
    "load",
    "seconds",
    "servers",
    "settings_of",
    "tokens",
    "waive",
]
