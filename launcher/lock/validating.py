"""What stands in a file, as a model; whatever does not fit is one error that names the file, the place and the line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from launcher.errors import InputError
from launcher.frozen import Frozen
from launcher.lock.yaml_reading import Place, refused
from launcher.misfits import in_our_words

Model = TypeVar("Model", bound=Frozen)


def require_schema(found: Any, kind: str, schema: int, where: Path | str) -> int:
    """Take ``lock: 1`` out of a file's values; its line break must be the file's last character.

    Raises InputError for values of another kind, and for the schema of a newer pdlaunch, which it names.
    """
    if not isinstance(found, dict) or kind not in found:
        raise refused(where, f"is no {kind}: it does not begin with `{kind}:`")
    said = found.pop(kind)
    if said == schema and not isinstance(said, bool):
        return schema
    if isinstance(said, int) and said > schema:
        raise InputError(
            f"{where}: has the schema `{kind}: {said}`, and this pdlaunch knows {schema}: a newer one wrote it",
            hint="pip install -U pdlaunch, or lock the profile again with this one: pdlaunch lock PROFILE",
        )
    raise refused(where, f"{kind}: {said!r} is no schema; this pdlaunch writes {schema}")


def require_end(text: str, where: Path | str) -> None:
    """Raise InputError for a text that stops in the middle of a line."""
    if not text.endswith("\n"):
        raise refused(where, "was cut short: its last line has no end", text.count("\n") + 1)


def validated(
    model: type[Model], values: Any, lines: Mapping[Place, int], where: Path | str, above: Place = ()
) -> Model:
    """`values`, which stand below `above`, as `model`; raises InputError for the first that does not fit."""
    try:
        return model.model_validate_json(json.dumps(values))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = (*above, *first["loc"])
        line = next((lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in lines), None)
        name = ".".join(map(str, place))
        raise refused(where, f"was cut short or edited: {name}: {in_our_words(first)}", line) from None


def as_old(written: Any, found: Any) -> Any:
    """`written` without the keys that `found` lacks: an older pdlaunch did not know them, and they are defaults.

    Their digests are those of values, so that nothing else can hide behind a key that is not there.
    """
    if isinstance(written, Mapping) and isinstance(found, Mapping):
        return {key: as_old(value, found[key]) for key, value in written.items() if key in found}
    if isinstance(written, list | tuple) and isinstance(found, list) and len(written) == len(found):
        return [as_old(*pair) for pair in zip(written, found, strict=True)]
    return written
