"""A variable's value as a lock writes it: literal text, or a path below one of this machine's roots.

A rooted value is written ``{state}/engine/41ab…`` and becomes absolute on the machine that starts it. A literal text
that begins with a brace gets one more in front, so that the two cannot be taken for each other.
"""

from __future__ import annotations

import re
from typing import get_args

from launcher.plan.model import Root

_ROOTED = re.compile(rf"\{{({'|'.join(get_args(Root))})\}}/(.*)", re.DOTALL)


def written(value: str, root: Root | None) -> str:
    """The text that stands in the lock."""
    if root is not None:
        return f"{{{root}}}/{value}"
    return "{" + value if value.startswith("{") else value


def read(text: str) -> tuple[str, Root | None]:
    """Value and root of what stands in a lock; raises ValueError for a root that there is not."""
    if not text.startswith("{"):
        return text, None
    if text.startswith("{{"):
        return text[1:], None
    if (match := _ROOTED.fullmatch(text)) is None:
        known = ", ".join(f"{{{root}}}/" for root in get_args(Root))
        raise ValueError(f"{text!r} begins with no root that is known: {known}, or {{{{ for a brace")
    root: Root = next(known for known in get_args(Root) if known == match[1])
    return match[2], root


def known(text: str) -> str:
    """`text` itself; raises ValueError for a root that there is not."""
    read(text)
    return text
