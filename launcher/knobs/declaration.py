"""What has been judged about a knob: where it is safe, what goes wrong elsewhere, and who says so.

The engine's source says what a knob is (`facts`); a declaration says what it does to a deployment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Role: TypeAlias = Literal["prefill", "decode", "aggregated", "router"]
Status: TypeAlias = Literal["measured", "documented", "inferred", "disputed", "retracted"]
SERVERS: tuple[Role, ...] = ("prefill", "decode", "aggregated")


class _Written(BaseModel):
    """A value as a catalogue writes it: every scalar is text there, and read by the type of its field."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Texts = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""One text or several."""


class Claim(_Written):
    """One statement about a knob, and what it rests on."""

    says: str
    source: str
    """A URL, or a file and line with the version of what it belongs to."""
    status: Status
    hardware: str | None = None
    """Where it was measured; None where that does not matter or is not known."""
    date: str | None = Field(default=None, pattern=r"^\d{4}(-\d{2}(-\d{2})?)?$")
    """As exact as it is known."""


class When(_Written):
    """Under which conditions a judgement holds; a condition left out holds everywhere.

    What is not known of a deployment is taken to meet it: a danger is not waved through for want of a fact, and a
    profile can be checked away from its cards; `up` judges again where they are known.
    """

    gpu: Texts = ()
    """Parts of model names as the driver spells them, whatever the case (``RTX PRO 6000``)."""
    roles: tuple[Role, ...] = ()
    context_above: int | None = None
    """Tokens of the configured context length."""
    engine: Texts = ()
    """Versions of the engine by their beginning (``0.5.23``)."""
    transfer: Texts = ()
    """Transfer backends."""
    model: Texts = ()
    """Parts of the model's path or name."""

    def __bool__(self) -> bool:
        """Whether there is any condition."""
        return self != When()

    def __str__(self) -> str:
        """``for decode, on RTX PRO 6000, with contexts above 8192``; empty without a condition."""
        parts = [
            f"for {' and '.join(self.roles)}" if self.roles else "",
            f"on {' or '.join(self.gpu)}" if self.gpu else "",
            f"with a context length above {self.context_above}" if self.context_above is not None else "",
            f"in engine {' or '.join(self.engine)}" if self.engine else "",
            f"over {' or '.join(self.transfer)}" if self.transfer else "",
            f"with {' or '.join(self.model)}" if self.model else "",
        ]
        return ", ".join(filter(None, parts))


class Range(_Written):
    """Values that are safe: an interval, a list, a form, or not to set it at all."""

    min: float | None = None
    max: float | None = None
    values: Texts = ()
    form: str | None = None
    """A regular expression for the whole text."""
    named: str | None = None
    """What the form or the list means, in words."""
    unset: bool = False
    """Only the absence of the setting is safe."""
    why: str | None = None
    when: When = When()

    @model_validator(mode="after")
    def _says_something(self) -> Range:
        bounds = self.min is not None or self.max is not None
        if sum([bounds, bool(self.values), self.form is not None, self.unset]) != 1:
            raise ValueError("a safe range is one of: min and max, values, form, unset")
        try:
            re.compile(self.form or "")
        except re.error as error:
            raise ValueError(f"form is no regular expression: {error}") from None
        return self

    def __str__(self) -> str:
        """``60 to 3600``, ``0 or 1``, ``names of interfaces``, ``unset``; with its condition."""
        said = self.named or self._plainly()
        return f"{said} ({self.when})" if self.when else said

    def _plainly(self) -> str:
        if self.unset:
            return "unset"
        if self.values:
            return " or ".join(self.values)
        if self.form is not None:
            return self.form
        low, high = (f"{each:.15g}" if each is not None else None for each in (self.min, self.max))
        if low is not None and high is not None:
            return f"{low} to {high}"
        return f"{low} or more" if low is not None else f"at most {high}"


class Bad(_Written):
    """A value that is known to do harm."""

    value: str | None = None
    min: float | None = None
    max: float | None = None
    does: str
    """What happens."""
    source: str | None = None
    """Whose claim it is, where it stands among several."""
    when: When = When()

    @model_validator(mode="after")
    def _says_which(self) -> Bad:
        if (self.value is None) == (self.min is None and self.max is None):
            raise ValueError("a bad value is one of: value, or min and max")
        return self

    def __str__(self) -> str:
        """``512``, ``0.93 or more``; with its condition."""
        low, high = (f"{each:.15g}" if each is not None else None for each in (self.min, self.max))
        number = f"{low} to {high}" if low and high else f"{low} or more" if low else f"{high} or less"
        said = number if self.value is None else self.value
        return f"{said} ({self.when})" if self.when else said


def _ranges(value: object) -> object:
    """``safe`` as it is written: a word, one range or a list of them."""
    if value == "unknown":
        return []
    if value == "unset":
        return [{"unset": "true"}]
    return [value] if isinstance(value, Mapping) else value


class Declaration(_Written):
    """A knob with everything that somebody has said about its values."""

    name: str = Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")
    kind: Literal["env", "flag", "machine"] = "env"
    """``machine`` is what lies below and no profile can say: a package, a unit's or a kernel's setting."""
    component: str
    """What reads it: ``sglang``, ``router``, ``nccl``, ``ucx`` …"""
    type: Literal["int", "float", "bool", "str", "list", "path", "json"]
    about: str
    """What it does, in one sentence."""
    unit: str | None = None
    default: str | None = None
    """What is taken where it is not set; None where that is decided at the start, or not known."""
    safe: Annotated[tuple[Range, ...], BeforeValidator(_ranges)] = ()
    """Where it is safe; empty is `unknown`: nobody has said. Of several, one that admits is enough."""
    establish: str | None = None
    """What would establish a safe range where none is known."""
    bad: tuple[Bad, ...] = ()
    hazard: str | None = None
    """What goes wrong with a wrong value."""
    roles: tuple[Role, ...] = SERVERS
    """Where it has an effect."""
    restart: Literal["router", "prefill", "decode", "all"] = "all"
    """What has to be started again for a change to take effect."""
    can_change_answers: bool = False
    depends_on_context: bool = False
    """Whether its effect depends on how long the context is: a short request proves nothing then."""
    transports: Texts = ()
    """Transfer backends with which it has an effect; empty is all."""
    only_fork: bool = False
    """No released engine reads it."""
    owned: bool = False
    """The launcher decides it; a profile has a key of its own for it, or no say."""
    claims: tuple[Claim, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _unknown_says_what_would_help(self) -> Declaration:
        if not self.safe and self.establish is None:
            raise ValueError("safe is unknown: say under `establish` what would establish it")
        return self

    @property
    def known(self) -> bool:
        """Whether anybody has said where it is safe."""
        return bool(self.safe)
