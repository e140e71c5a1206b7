"""The base of every model: frozen, strict, unknown keys refused."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value that cannot change once made and that takes no key it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
