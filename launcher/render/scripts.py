"""Serve scripts: one per service, one value a line with its origin, runnable without pdlaunch."""

from __future__ import annotations

import re
from collections.abc import Iterable

from launcher.errors import InputError
from launcher.plan.model import Argument, Origin, Plan, Secret, Service, Variable
from launcher.render.bundle import RenderedFile
from launcher.render.layout import Layout
from launcher.render.quoting import assignment, comment, word
from launcher.render.systemd.names import service_unit
from launcher.render.templates import fill

RESERVED = frozenset(
    {"BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"}
    | {"BASHPID", "BASH_ALIASES", "BASH_ARGC", "BASH_ARGV", "BASH_CMDS", "BASH_COMMAND", "BASH_LINENO", "BASH_SOURCE"}
    | {"BASH_SUBSHELL", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "FUNCNAME", "GROUPS", "HISTCMD", "LINENO"}
    | {"OPTIND", "PIPESTATUS", "RANDOM", "SECONDS", "SRANDOM"}
    | {"PWD", "OLDPWD", "SHLVL", "_"}
    | {
        "IFS",
        "BASH_ENV",
        "ENV",
        "POSIXLY_CORRECT",
        "BASH_XTRACEFD",
        "env",
        "late",
        "argv",
        "secret",
        "secrets",
        "value",
    }
)
"""Names that bash would not hand over: read-only in bash, changed by bash, removed again by the script, or its own.

Bash's variables: https://www.gnu.org/software/bash/manual/html_node/Bash-Variables.html"""
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WIDEST = 90
"""Characters of a value that its neighbours' comments still make room for."""


def serve_script(plan: Plan, service: Service, layout: Layout) -> RenderedFile:
    """The script that starts `service`; raises InputError for a value that no process can receive."""
    if clash := sorted({s.name for s in service.secrets} & RESERVED):
        raise InputError(f"{service.name}: {clash[0]} cannot be read from a file: the shell owns that name")
    if "=" in service.words()[0]:
        raise InputError(f"{service.name}: the program's path must not contain '=': {service.words()[0]}")
    credentials = _credentials(plan, service)
    try:
        text = fill(
            "serve/serve.sh.j2",
            deployment=plan.deployment,
            service=service,
            digest=service.digest(),
            env=_lines((assignment(v.name, layout.value(v)), v.origin) for v in service.env if not _is_late(v)),
            late=_lines((word(f"{v.name}={layout.value(v)}"), v.origin) for v in service.env if _is_late(v)),
            folder=next((word(layout.value(v)) for v in service.env if v.name == "PWD"), None),
            secrets=_lines((assignment(s.name, s.file), s.origin) for s in service.secrets if not _is_flag(s)),
            credentials=credentials,
            argv=_lines((_words(a, service, credentials), a.origin) for a in service.argv),
        )
    except ValueError as error:
        raise InputError(f"{service.name}: {error}") from None
    return RenderedFile(text, 0o555)


def _is_late(variable: Variable) -> bool:
    """Whether `env` has to hand it over, as bash would not."""
    return variable.name in RESERVED or not _IDENTIFIER.fullmatch(variable.name)


def _is_flag(secret: Secret) -> bool:
    return secret.name.startswith("--")


def _credentials(plan: Plan, service: Service) -> str | None:
    """Where systemd puts the secrets of a system service; by its name, as no variable comes through to the script."""
    return f"/run/credentials/{service_unit(plan.deployment, service.name)}" if plan.backend == "systemd" else None


def _words(argument: Argument, service: Service, credentials: str | None) -> str:
    """A flag's words; one whose value is a secret gets it from its file when the script runs."""
    words = " ".join(map(word, argument.words))
    last = argument.words[-1]
    file = next((s.file for s in service.secrets if _is_flag(s) and s.name == last.removesuffix("=")), None)
    if file is None:
        return words
    if credentials:
        placed = f"{credentials}/{last.removesuffix('=')}"
        reading = f"/bin/cat -- {word(placed)} 2> /dev/null || /bin/cat -- {word(file)}"
    else:
        reading = f"<{word(file)}"
    return f'{words}{"" if last.endswith("=") else " "}"$({reading})"'


def _lines(values: Iterable[tuple[str, Origin]]) -> list[str]:
    """Each value with its origin as a comment, the comments below each other as far as that is readable."""
    pairs = list(values)
    column = max((len(value) for value, _ in pairs if len(value) <= _WIDEST), default=0)
    return [f"{value:<{column}}  # {comment(str(origin))}" for value, origin in pairs]
