from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from launcher.profile import schema, schema_text
from launcher.profile.grammar import PROFILE, Key, ListOf, Named, Section, Shape
from launcher.shipped import shipped

SHIPPED = Path(__file__).parents[3] / "docs" / "profile.schema.json"


class _AsEditorsRead(yaml.SafeLoader):
    """YAML without dates, as the editors' JavaScript parsers read it."""


_AsEditorsRead.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in forms if not tag.endswith("timestamp")]
    for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def written(text: str) -> Any:
    return yaml.load(text, Loader=_AsEditorsRead)  # noqa: S506  a subclass of SafeLoader


def errors(text: str) -> list[str]:
    return [error.json_path for error in jsonschema.Draft202012Validator(schema()).iter_errors(written(text))]


SIX = "name: x\nmodel: /m\nengine: {venv: /v}\nprefill: {gpus: 0-3}\ndecode: {gpus: 4-7}\nrouter: {port: 8000}\n"


def test_the_shipped_one_is_current() -> None:
    assert SHIPPED.read_text(encoding="utf-8") == schema_text(), "run: pdlaunch schema > docs/profile.schema.json"
    assert json.loads(schema_text()) == schema()


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("path", sorted(shipped("profiles").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_profiles_satisfy_it(path: Path) -> None:
    assert errors(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "more",
    [
        "stop: {drain: 90s, kill: 2h}",
        "ready: {prompt: 8193, probe: 'ladder:64k'}",
        "ready: {prompt: 64k}",
        "knobs: {X: {safe: [1, 2], bad: {3: hangs}}}",
        "allow: [{what: PD204, why: x, by: y, until: 2026-12-01}]",
        "watch: {on_hang: 'rollback:noon'}",
        "watch: {on_hang: restart, after: 30s, times: 3, within: 2h}",
    ],
)
def test_what_may_be_written_satisfies_it(more: str) -> None:
    assert errors(SIX + more) == []


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ("stop: {drain: 90}", "$.stop.drain"),
        ("stop: {drian: 90s}", "$.stop"),
        ("transfer: nixxl", "$.transfer"),
        ("ready: {probe: ladder}", "$.ready.probe"),
        ("allow: [{what: PD204}]", "$.allow[0]"),
        ("aggregated: {gpus: 3to4}", "$.aggregated.gpus"),
        ("backend: slurm", "$.backend"),
    ],
)
def test_what_may_not_be_written_breaks_it(more: str, path: str) -> None:
    assert path in errors(SIX + more)


def test_every_key_is_described() -> None:
    keys = list(_keys(PROFILE))
    assert len(keys) > 40
    assert all(key.about.endswith(".") for key in keys)


def _keys(shape: Shape) -> list[Key]:
    match shape:
        case Section(keys=keys):
            return [*keys.values(), *(deeper for key in keys.values() for deeper in _keys(key.shape))]
        case Named(shape=inner) | ListOf(shape=inner):
            return _keys(inner)
        case _:
            return []
