"""Serve scripts: one per service, one value a line with its origin, runnable without pdlaunch."""

from __future__ import annotations

from launcher.errors import InputError
from launcher.plan.model import Origin, Plan, Service
from launcher.render.bundle import RenderedFile
from launcher.render.layout import Layout
from launcher.render.quoting import assignment, comment, word
from launcher.render.templates import fill

RESERVED = frozenset(
    {"BASHOPTS", "BASH_VERSINFO", "EUID", "PPID", "SHELLOPTS", "UID"}  # read-only in bash
    | {"PWD", "OLDPWD", "SHLVL", "_"}  # set by bash, removed again by the script
    | {"IFS", "BASH_ENV", "ENV", "POSIXLY_CORRECT", "BASH_XTRACEFD", "env", "argv", "secret", "secrets", "value"}
)
"""Names that a script cannot hand over: bash owns them, or the script itself does."""
_COMMENT_COLUMN = 72


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
            env=[_line(assignment(v.name, layout.value(v)), v.origin) for v in service.env],
            secrets=[_line(assignment(s.name, s.file), s.origin) for s in service.secrets],
            argv=[_line(" ".join(map(word, a.words)), a.origin) for a in service.argv],
        )
    except ValueError as error:
        raise InputError(f"{service.name}: {error}") from None
    return RenderedFile(text, 0o555)


def _line(value: str, origin: Origin) -> str:
    return f"{value:<{_COMMENT_COLUMN}} # {comment(str(origin))}"
