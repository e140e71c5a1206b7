"""Profiles: the grammar, strict YAML with positions, and what each server is told."""

from typing import TYPE_CHECKING

from launcher.doors import later
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
from launcher.profile.recognizing import is_lock, is_lock_file

if TYPE_CHECKING:
    from launcher.profile.findings import DELETE, Finding
    from launcher.profile.json_schema import schema, schema_text
    from launcher.profile.layering import levels
    from launcher.profile.lines import Lines
    from launcher.profile.loading import Examined, Loaded, examine, faulty, load
    from launcher.profile.merging import Merged, Written, settings_of
    from launcher.profile.serving import Server, servers
    from launcher.profile.tree import KeyPath
    from launcher.profile.waivers import allows
    from launcher.profile.waiving import waive

__all__ = [
    "DELETE",
    "ArgValue",
    "Engine",
    "EnvValue",
    "Examined",
    "Finding",
    "KeyPath",
    "Lines",
    "Loaded",
    "Merged",
    "Model",
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
    "is_lock",
    "is_lock_file",
    "levels",
    "load",
    "schema",
    "schema_text",
    "seconds",
    "servers",
    "settings_of",
    "tokens",
    "waive",
]

__getattr__ = later(
    __name__,
    {
        **dict.fromkeys(("DELETE", "Finding"), "findings"),
        **dict.fromkeys(("schema", "schema_text"), "json_schema"),
        "levels": "layering",
        "Lines": "lines",
        **dict.fromkeys(("Examined", "Loaded", "examine", "faulty", "load"), "loading"),
        **dict.fromkeys(("Merged", "Written", "settings_of"), "merging"),
        **dict.fromkeys(("Server", "servers"), "serving"),
        "KeyPath": "tree",
        "allows": "waivers",
        "waive": "waiving",
    },
)
