"""supervisord's files: the programs of a generation, and the daemon's own part of the configuration.

supervisord has no escape for what its parser takes for a comment and expands some values twice, so every value goes
through a filter that knows where it will stand.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from launcher.errors import InputError
from launcher.plan.model import Plan
from launcher.render.bundle import RenderedFile
from launcher.render.layout import Layout
from launcher.shipped import shipped

if TYPE_CHECKING:
    from jinja2 import Environment

PROGRAMS = "supervisord/programs.conf"
RESTARTS = "supervisord/restarts.py"
WATCH = "watch"
"""The program that watches the others: no service, and nothing waits for it."""
HERE = "%(here)s"
"""What supervisord, and `daemon` below, replace by the folder of the programs' file."""
_HERE = re.compile(rf"(?<!%){re.escape(HERE)}(/\.\.)?")

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_SOCKET_BYTES = 107 - len(".4194304")
"""A UNIX socket's path holds 107 bytes, and supervisord first binds a name that ends in its pid:
https://github.com/Supervisor/supervisor/blob/4.3.0/supervisor/http.py#L564"""


def render(plan: Plan, layout: Layout) -> Mapping[str, RenderedFile]:
    """The files that a generation adds for supervisord, by their names in the bundle.

    Raises InputError for a name or path that its dialect cannot hold.
    """
    programs = _environment().get_template("programs.conf.j2")
    text = programs.render(
        deployment=plan.deployment,
        services=[{"name": s.name, "user": s.user, "log": str(layout.log(s.name))} for s in plan.services],
        stopwaitsecs=math.ceil(plan.stop.kill),
        state=str(layout.state),
        tries=plan.restart.tries,
        within=math.ceil(plan.restart.within),
        log=str(layout.log("restarts")),
    )
    listener = shipped("templates") / "supervisord" / "restarts.py"
    return {PROGRAMS: RenderedFile(text), RESTARTS: RenderedFile(listener.read_text(encoding="utf-8"), mode=0o555)}


def daemon(layout: Layout, programs: str, here: Path, *, user: str | None, watch: Sequence[str] | None = None) -> str:
    """The whole configuration: the daemon's own part, then the text of `programs` as if it lay in `here`.

    `watch` is the command of the watcher, which is this machine's and therefore in no bundle; None for none.

    One file, because an ``[include]`` takes its path for a list of shell patterns and breaks at spaces, and because
    supervisord itself puts `here` into an included file without doubling its ``%``.
    Raises InputError for a path that cannot be written, or too long for a socket.
    """
    if len(str(socket(layout)).encode()) > _SOCKET_BYTES:
        raise InputError(
            f"the path of supervisord's socket is longer than {_SOCKET_BYTES} bytes: {socket(layout)}",
            hint="set XDG_RUNTIME_DIR to a short folder, or give the deployment a shorter name",
        )
    head = _environment().get_template("supervisord.conf.j2")
    own = head.render(
        deployment=layout.deployment,
        log=str(layout.log("supervisord")),
        pidfile=str(pidfile(layout)),
        socket=str(socket(layout)),
        user=user,
        watch=watch,
        watch_log=str(layout.log(WATCH)),
    )
    folders = {f"{HERE}/..": here.parent, HERE: here}
    return own + _HERE.sub(lambda found: _quoted(folders[found[0]]), programs)


def socket(layout: Layout) -> Path:
    """The UNIX socket of the deployment's daemon."""
    return layout.run / "supervisord.sock"


def pidfile(layout: Layout) -> Path:
    """The file that holds the daemon's pid while it runs."""
    return layout.run / "supervisord.pid"


def _text(value: str) -> str:
    return _uncomment(_plain(value).replace("%", "%%"))


def _logfile(value: str) -> str:
    # Expanded twice: https://github.com/Supervisor/supervisor/blob/4.3.0/supervisor/options.py#L974-L976
    return _uncomment(_plain(value).replace("%", "%%%%"))


def _word(value: str) -> str:
    return _text(shlex.quote(value))


def _quoted(path: Path) -> str:
    # Both stand between the quotes of a command.
    return _text(str(path).replace("'", r"'\''"))


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise InputError(f"supervisord cannot run a program called {value!r}: letters, digits, '.', '_' and '-' only")
    return value


def _plain(value: str) -> str:
    if _CONTROL.search(value):
        raise InputError(f"supervisord's configuration cannot hold a control character: {value!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"supervisord's configuration is UTF-8 and cannot hold {value!r}") from None
    return value


def _uncomment(value: str) -> str:
    # ' ;' and ' #' begin a comment and nothing escapes them; an expansion to no text keeps the two apart.
    return re.sub(r"(\s)([;#])", r"\1%(here).0s\2", value)


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # `status` needs none of it

    environment = Environment(
        loader=FileSystemLoader(shipped("templates") / "supervisord"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  ini, not HTML
    )
    environment.filters.update(text=_text, logfile=_logfile, word=_word, name=_name)
    return environment
