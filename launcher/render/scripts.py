"""Serve scripts: one per service, one value a line with its origin, runnable without pdlaunch."""

from __future__ import annotations

from collections.abc import Iterable

from launcher.errors import InputError
from launcher.plan.model import Origin, Plan, Service
from launcher.render.bundle import RenderedFile
from launcher.render.layout import Layout
from launcher.render.quoting import assignment, comment, word
from launcher.render.templates import fill

RESERVED = frozenset(
    {"BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"}
    | {"BASHPID", "BASH_ALIASES", "BASH_ARGC", "BASH_ARGV", "BASH_CMDS", "BASH_COMMAND", "BASH_LINENO", "BASH_SOURCE"}
    | {"BASH_SUBSHELL", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "FUNCNAME", "GROUPS", "HISTCMD", "LINENO"}
    | {"OPTIND", "PIPESTATUS", "RANDOM", "SECONDS", "SRANDOM"}
    | {"PWD", "OLDPWD", "SHLVL", "_"}
    | {"IFS", "BASH_ENV", "ENV", "POSIXLY_CORRECT", "BASH_XTRACEFD", "env", "argv", "secret", "secrets", "value"}
)
"""Names that a script cannot hand over: read-only in bash, changed by bash, removed again by the script, or its own.

Bash's variables: https://www.gnu.org/software/bash/manual/html_node/Bash-Variables.html"""
_WIDEST = 90
"""Characters of a value that its neighbours' comments still make room for."""


def serve_script(plan: Plan, service: Service, layout: Layout) -> RenderedFile:
    """The script that starts `service`; raises InputError for a value that no process can receive."""
    names = {v.name for v in service.env} | {s.name for s in service.secrets}
    if clash := sorted(names & RESERVED):
        raise InputError(f"{service.name}: {clash[0]} cannot be given to a service: the shell owns that name")
    if "=" in service.words()[0]:
        raise InputError(f"{service.name}: the program's path must not contain '=': {service.words()[0]}")
    try:
        text = fill(
            "serve/serve.sh.j2",
            deployment=plan.deployment,
            service=service,
            digest=service.digest(),
            env=_lines((assignment(v.name, layout.value(v)), v.origin) for v in service.env),
            secrets=_lines((assignment(s.name, s.file), s.origin) for s in service.secrets),
            argv=_lines((" ".join(map(word, a.words)), a.origin) for a in service.argv),
        )
    except ValueError as error:
        raise InputError(f"{service.name}: {error}") from None
    return RenderedFile(text, 0o555)


def _lines(values: Iterable[tuple[str, Origin]]) -> list[str]:
    """Each value with its origin as a comment, the comments below each other as far as that is readable."""
    pairs = list(values)
    column = max((len(value) for value, _ in pairs if len(value) <= _WIDEST), default=0)
    return [f"{value:<{column}}  # {comment(str(origin))}" for value, origin in pairs]
