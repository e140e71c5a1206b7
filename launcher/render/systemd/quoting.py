"""Words for unit files: whatever the value, systemd reads it unchanged.

A quoted word takes C escapes, ``%`` begins a specifier, and ``$`` a variable unless the command begins with ``:``
(systemd.service(5), COMMAND LINES). A mark of `launcher.render.systemd.placing` cannot arise from a value.
"""

from __future__ import annotations

import re

from launcher.errors import InputError

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BARE = re.compile(r"[A-Za-z0-9_+,./=:-]+")


def word(value: str) -> str:
    """`value` as one word of a command after ``:``, of a list of paths or of an assignment.

    Raises InputError for what no unit can hold.
    """
    value = _plain(value).replace("%", "%%")
    if _BARE.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("@", "\\x40") + '"'


def inside(folder: str, name: str) -> str:
    """The path of `name` in the generation that lies below `folder`, as one word; its number is filled in later."""
    quoted = word(folder)
    tail = f"/@NUMBER@/{name}"
    return f'{quoted[:-1]}{tail}"' if quoted.endswith('"') else quoted + tail


def program(path: str) -> str:
    """`path`, to be quoted for the first place of a command, where systemd allows less.

    Raises InputError for quotes and backslashes, which it calls special characters there.
    """
    if set(path) & set("\"'\\"):
        raise InputError(
            f"systemd runs no program whose path holds a quote or a backslash: {path}",
            hint="keep deployments in another folder: PDLAUNCH_STATE_DIR",
        )
    return path


def rest(value: str) -> str:
    """`value` as the rest of a line, where systemd takes no quotes away.

    Raises InputError for what such a line cannot hold.
    """
    if value != value.strip() or value.endswith("\\") or "@" in value:
        raise InputError(f"a systemd unit cannot hold {value!r} there: no '@', no blank at an end, no '\\' last")
    return _plain(value).replace("%", "%%")


def _plain(value: str) -> str:
    if _CONTROL.search(value):
        raise InputError(f"a systemd unit cannot hold a control character: {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"a systemd unit is UTF-8 and cannot hold {value!r}") from None
    return value
