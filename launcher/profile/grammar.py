"""The grammar of a profile as data: the reader, the messages and the editors' schema all follow this one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from launcher.profile import kinds
from launcher.profile.kinds import Kind, choice, text, whole
from launcher.profile.values import ARG, ENV, SECRET, WORD

VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"
FLAG = r"[a-z][a-z0-9]*(-[a-z0-9]+)*"
NAME = r"(?![0-9]+$)[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?"
ON_HANG = r"none|collect|restart|rollback:[a-z0-9-]+"
PROBE = r"none|ladder:[1-9][0-9]*[kM]?"


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a section: what it holds, in one sentence for message and editor."""

    shape: Shape
    about: str
    required: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A mapping with known keys; `short` is what may stand in its place, filling the key named with it."""

    title: str
    keys: Mapping[str, Key]
    short: tuple[str, Kind] | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """A mapping of free names (a pattern) to one shape."""

    of: str
    pattern: str
    shape: Shape


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of one shape."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class Either:
    """A list where a list stands, else a single one."""

    single: Kind


Shape: TypeAlias = Kind | Section | Named | ListOf | Either


def _path(meant: str) -> Kind:
    return text(meant, r"(?![~$]|\.\.?/)[^$]*", f"{meant}, written in full: ~ and $ are not expanded here")


_WHERE = r"/.*|[a-zA-Z0-9][a-zA-Z0-9._-]*"

SETTINGS: Mapping[str, Key] = MappingProxyType(
    {
        "args": Key(
            Named("a flag of the engine", r"\S+", ARG),
            "The engine's own long flags without --. true sets a switch, false leaves it out (or writes --no-x where "
            "the engine has one), a list becomes several values, a mapping becomes JSON, ~ takes a flag away again.",
        ),
        "env": Key(
            Named("an environment variable", VARIABLE, ENV),
            "Environment variables. Values become text; true and false in the spelling that the reader parses; ~ takes "
            "a variable away again.",
        ),
        "secrets": Key(
            Named("an environment variable", VARIABLE, SECRET),
            "Variable name to the file (0600) that holds its value, read when the service starts.",
        ),
    }
)

_GPUS = Key(kinds.CARDS, "The cards of this server: 0-3, or 0,2,5.")
_SIZES = {
    "tp": Key(whole(1, 1024), "Tensor-parallel size; the number of GPUs if left out."),
    "dp": Key(whole(1, 1024), "Data-parallel size."),
    "ep": Key(whole(1, 1024), "Expert-parallel size."),
}
_PORTS = {
    "port": Key(kinds.PORT, "HTTP port; assigned if left out."),
    "bootstrap_port": Key(kinds.PORT, "Port of a prefill's bootstrap server; assigned if left out."),
    "nccl_port": Key(kinds.PORT, "Port of the server's own distributed set-up; assigned if left out."),
}

REPLICA = Section("a replica", MappingProxyType({"gpus": _GPUS, **_SIZES, **_PORTS, **SETTINGS}))
ROLE = Section(
    "a role",
    MappingProxyType(
        {
            **REPLICA.keys,
            "replicas": Key(ListOf(REPLICA), "The servers of the role where there are several, each with its GPUs."),
        }
    ),
)

MODEL = Section(
    "model",
    MappingProxyType(
        {
            "path": Key(_path("the folder with the weights"), "Folder with the weights.", required=True),
            "name": Key(
                text("the name that clients send", r"[^:\s]+", "a served model name holds no ':' and no space"),
                "What clients send as model; the deployment's name if left out.",
            ),
            "revision": Key(text("a revision of the weights"), "Revision of the weights, for a repository."),
        }
    ),
    short=("path", _path("the folder with the weights")),
)

ENGINE = Section(
    "engine",
    MappingProxyType(
        {
            "kind": Key(choice("sglang", "cpu", "simulator"), "sglang, cpu (SGLang without a GPU) or simulator."),
            "venv": Key(
                text("a path, or the name of a registered environment", _WHERE, "a whole path, or a registered name"),
                "Python environment with SGLang: a path, or the name of a registered one.",
            ),
            "version": Key(text("a version such as 0.5.23"), "Refuse to start on another version."),
            "source": Key(
                text("a checkout of the engine", _WHERE, "a whole path, or a registered name"),
                "A checkout that stands in front of the installed package.",
            ),
            "user": Key(
                text("a user", r"[a-z_][a-z0-9_-]{0,31}", "a login name is meant"), "User that runs the services."
            ),
            "host": Key(
                text("an address", r"[A-Za-z0-9.:-]+", "an address is meant, such as 127.0.0.1"),
                "Address that the workers listen on.",
            ),
            **SETTINGS,
        }
    ),
)

ROUTER = Section(
    "router",
    MappingProxyType(
        {
            "kind": Key(choice("sglang-router"), "The router."),
            "venv": Key(
                text("a path, or the name of a registered environment", _WHERE, "a whole path, or a registered name"),
                "Python environment with the router; the engine's if left out.",
            ),
            "host": Key(
                text("an address", r"[A-Za-z0-9.:-]+", "an address is meant, such as 127.0.0.1"),
                "Address that clients reach; 127.0.0.1 if left out.",
            ),
            "port": Key(kinds.PORT, "Port that clients reach.", required=True),
            "metrics_port": Key(kinds.PORT, "Port of the router's own metrics; assigned if left out."),
            **SETTINGS,
        }
    ),
)

_MOVER = choice("nixl", "mooncake")
TRANSFER = Section(
    "transfer",
    MappingProxyType(
        {
            "kind": Key(_MOVER, "What moves it; nixl if left out."),
            "floor": Key(kinds.RATES, "What `doctor` must measure at least, such as 12GB/s; else it blocks."),
        }
    ),
    short=("kind", _MOVER),
)
_RUNG = "none, or ladder:64k for prompts that grow to that many tokens"
READY = Section(
    "ready",
    MappingProxyType(
        {
            "within": Key(kinds.DURATIONS, "How long the servers may take to start."),
            "prompt": Key(kinds.COUNTS, "Tokens of the first prompt; two chunks and one token if left out."),
            "probe": Key(text(_RUNG, PROBE, f"a probe is {_RUNG}"), "What `up` proves beyond the first prompt."),
        }
    ),
)
STOP = Section(
    "stop",
    MappingProxyType(
        {
            "drain": Key(kinds.DURATIONS, "How long running requests may finish."),
            "kill": Key(kinds.DURATIONS, "When the whole process tree goes, counted from the start of the stop."),
        }
    ),
)
RESTART = Section(
    "restart",
    MappingProxyType(
        {
            "tries": Key(whole(0, 100), "How often a server that died is started again."),
            "within": Key(kinds.DURATIONS, "The time over which the tries are counted."),
        }
    ),
)
_HANG = "none (nobody watches), collect, restart, or rollback:NAME"
WATCH = Section(
    "watch",
    MappingProxyType(
        {
            "on_hang": Key(text(_HANG, ON_HANG, f"on a hang: {_HANG}"), "What to do on a hang."),
            "after": Key(kinds.DURATIONS, "How long a server with work may get nowhere before it counts as hung."),
            "times": Key(whole(0, 100), "How often to restart or roll back; evidence is frozen each time."),
            "within": Key(kinds.DURATIONS, "The time over which the times are counted."),
            "metrics_port": Key(
                kinds.PORT, "Port of the watcher's own metrics; assigned beside the router's if left out."
            ),
        }
    ),
)
KNOB = Section(
    "a declaration",
    MappingProxyType(
        {
            "safe": Key(Either(WORD), "The value or values known to be safe; unset where none is."),
            "bad": Key(Named("a value", r".+", text("what the value does")), "Value to what it does."),
            "why": Key(text("the reason"), "Who says so, and from what."),
        }
    ),
)
WAIVER = Section(
    "a waiver",
    MappingProxyType(
        {
            "what": Key(
                text("a setting with its value, or a rule's code"),
                "decode.env.NAME=512, router.args.api-key, a rule such as PD204, or a check such as DR105.",
                required=True,
            ),
            "claim": Key(
                text("what is said against the value"),
                "What is said against a value that is known bad, as `check` prints it: whoever allows it names it.",
            ),
            "why": Key(text("the reason"), "The reason.", required=True),
            "by": Key(text("who answers for it"), "Who answers for it.", required=True),
            "until": Key(kinds.DATES, "The last day on which it holds.", required=True),
        }
    ),
)

PROFILE = Section(
    "a profile",
    MappingProxyType(
        {
            "name": Key(
                text(
                    "the deployment's name",
                    NAME,
                    "a name has lower-case letters, digits and dashes, 40 at most, and is no number",
                ),
                "The deployment's name: lower-case letters, digits, dashes, 40 at most.",
                required=True,
            ),
            "model": Key(MODEL, "The weights: a path, or path, name and revision. Left out for cpu and simulator."),
            "engine": Key(ENGINE, "The serving environment, and what all roles share."),
            "prefill": Key(ROLE, "The servers that read prompts."),
            "decode": Key(ROLE, "The servers that write answers."),
            "aggregated": Key(ROLE, "Servers that do both, instead of prefill and decode."),
            "router": Key(ROUTER, "What stands in front and is talked to by clients."),
            "transfer": Key(TRANSFER, "What moves the KV cache from prefill to decode: a word, or kind and floor."),
            "ready": Key(READY, "What `up` waits for."),
            "stop": Key(STOP, "How services stop."),
            "restart": Key(RESTART, "How often a server that died is started again."),
            "watch": Key(WATCH, "What to do on a hang."),
            "knobs": Key(
                Named("a variable or a flag", rf"{VARIABLE}|{FLAG}", KNOB),
                "Declarations for names that only this engine has.",
            ),
            "allow": Key(ListOf(WAIVER), "Waivers: what is allowed although it deviates, why, by whom and until when."),
            "backend": Key(choice("systemd", "supervisord"), "What supervises the services; systemd where it runs."),
        }
    ),
)
