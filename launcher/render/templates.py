"""The Jinja environment: strict about what is undefined, and loaded once."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from launcher.render import quoting
from launcher.shipped import shipped

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # most commands fill no template

    environment = Environment(
        loader=FileSystemLoader(shipped("templates")),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701  shell and ini, each value through a quoting filter of its own
    )
    environment.filters |= {"word": quoting.word, "comment": quoting.comment}
    return environment


def fill(template: str, **values: Any) -> str:
    """The text of a shipped template; raises jinja2.UndefinedError for a value that is not given."""
    return _environment().get_template(template).render(**values)
