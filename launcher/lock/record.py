"""Records that are kept beside a generation: sections, a digest over each and one over all, and when it was taken."""

from __future__ import annotations

import copy
import datetime as dt
from pathlib import Path
from typing import Any, ClassVar, Self

from launcher.frozen import Frozen
from launcher.lock import digests
from launcher.lock.validating import as_old, require_end, require_schema, validated
from launcher.lock.yaml_reading import load, refused
from launcher.lock.yaml_writing import dump


class Taken(Frozen):
    """When a record was taken, by whom and with which pdlaunch: in no digest."""

    at: dt.datetime
    by: str
    pdlaunch: str


class Record(Frozen):
    """The base of what is written after a start; every field but `about` is a section with a digest."""

    kind: ClassVar[str]
    """The first key of the file."""
    schema_version: ClassVar[int] = 1
    comment: ClassVar[str]

    deployment: str
    generation: int
    lock: str | None
    """Digest of the intent that was started; None for a generation without a lock."""
    about: Taken

    @property
    def digests(self) -> dict[str, str]:
        """Digest by section."""
        sections = self.model_dump(mode="json", exclude={"about", "deployment", "generation", "lock"})
        return {name: digests.of(section) for name, section in sections.items()}

    @property
    def digest(self) -> str:
        """Over all sections, and what they were taken of."""
        return digests.of([self.deployment, self.generation, self.lock, self.digests])

    def document(self) -> dict[str, Any]:
        """The record as plain values, digests included, in the order of its YAML."""
        values = self.model_dump(mode="json")
        head = {key: values.pop(key) for key in ("deployment", "generation", "lock")}
        about = values.pop("about")
        return {
            self.kind: self.schema_version,
            **head,
            "digest": self.digest,
            "digests": self.digests,
            **values,
            "about": about,
        }

    def to_yaml(self) -> str:
        """The record's text; `from_yaml` gives the record back."""
        return dump(self.document(), {self.kind: self.comment})

    @classmethod
    def from_yaml(cls, text: str, where: Path | str) -> Self:
        """The record that `to_yaml` wrote.

        Raises InputError, naming `where` and the section, for a text that was cut short or edited, or of a newer
        schema.
        """
        found, lines = load(text, where)
        whole = copy.deepcopy(found)
        require_schema(found, cls.kind, cls.schema_version, where)
        require_end(text, where)
        digest, said = found.pop("digest", None), found.pop("digests", None)
        record = validated(cls, found, lines, where)
        for name, actual in record.digests.items():
            if not isinstance(said, dict) or said.get(name) != actual:
                raise refused(where, f"{name} was edited: its digest is {actual}, and another one stands there")
        if digest != record.digest or as_old(record.document(), whole) != whole:
            raise refused(where, "was cut short or edited: it is not as pdlaunch writes it")
        return record
