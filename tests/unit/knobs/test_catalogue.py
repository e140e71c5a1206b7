from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from launcher.errors import InputError
from launcher.knobs import nearest
from launcher.knobs.catalogue import Catalogue, catalogue, layer, local_files, shipped_files
from launcher.knobs.catalogue.compiled import Compiled
from launcher.knobs.catalogue.places import local_folder, user_folder
from launcher.knobs.catalogue.reading import read
from launcher.knobs.judging import Context, judge_setting
from launcher.knobs.page import PAGE, page
from launcher.profile import levels, load
from launcher.shipped import shipped
from tests.unit.knobs.slips import slips

MINE = """\
component: local
knobs:
  X_MINE:
    about: mine
    type: int
    safe: {values: [1]}
    claims: [{says: tried, source: anna, status: measured}]
"""


@pytest.fixture(scope="module")
def known() -> Catalogue:
    return layer(Compiled(None).entries(shipped_files()), ())


def problems(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        read(Path("k.yaml"), text)
    return [f"{p.where} {p.error}" for p in caught.value.problems]


def test_the_shipped_catalogue_is_large_and_every_entry_rests_on_something(known: Catalogue) -> None:
    assert len(known) > 350
    for name in known:
        declaration = known.get(name)
        assert declaration
        assert declaration.claims
        assert declaration.known or declaration.establish
        assert all(claim.says.strip() and claim.source.strip() for claim in declaration.claims)


def test_every_setting_of_a_shipped_profile_has_provenance(known: Catalogue) -> None:
    names = {
        (path.name, name)
        for path in shipped("profiles").glob("*.yaml")
        for _, level in levels(load(path).profile)
        for name in (*level.args, *level.env)
    }
    assert len(names) > 60
    assert sorted(each for each in names if each[1] not in known) == []


def test_what_the_launcher_itself_sets_is_declared(known: Catalogue) -> None:
    from launcher.engines.cpu.settings import CPU_ENGINE_ARGS, CPU_ENGINE_ENV
    from launcher.plan.caches import VARIABLES
    from launcher.plan.model import DIGEST, MARK

    own = {*CPU_ENGINE_ARGS, *CPU_ENGINE_ENV, *VARIABLES, DIGEST, MARK, "SGLANG_HOST_IP", "PATH", "SPT_NOENV"}
    assert sorted(name for name in own if name not in known) == []


def test_the_default_of_a_flag_or_variable_is_never_known_bad(known: Catalogue) -> None:
    excepted = {"disable-custom-all-reduce", "health-check-timeout-secs"}
    for name in known:
        declaration = known.get(name)
        if declaration and declaration.default is not None and name not in excepted:
            assert judge_setting(declaration, declaration.default, Context()).outcome != "bad", name


def test_a_bad_value_names_a_claim_that_is_there(known: Catalogue) -> None:
    named = [
        (each.source, [claim.source for claim in declaration.claims])
        for name in known
        if (declaration := known.get(name))
        for each in declaration.bad
        if each.source is not None
    ]
    assert named
    assert [source for source, claims in named if source not in claims] == []


def test_the_page_is_current() -> None:
    """When it is not: python -m launcher.knobs.page."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_no_name_is_declared_by_two_shipped_files() -> None:
    names = [name for path in shipped_files() for name in read(path, path.read_text(encoding="utf-8"))]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MINE.replace("safe:", "saef:"), "k.yaml:6 no key of a declaration"),
        (MINE.replace("status: measured", "status: sure"), "k.yaml:7 is to be 'measured'"),
        (MINE.replace("type: int", "type: whole"), "k.yaml:5 is to be 'int'"),
        (MINE + "  X_MINE: {}\n", "k.yaml:8 stands twice; the first is in line 3"),
        (MINE + "extra: 1\n", "k.yaml:8 no key of a catalogue"),
        ("knobs: }\n", "k.yaml:1 not YAML"),
        ("- a\n", "k.yaml:1 a catalogue holds `knobs:`"),
        ("", "k.yaml:1 a catalogue holds `knobs:`"),
        ("knobs:\n  X_A: 7\n", "k.yaml:2 is missing"),
        (MINE.replace("X_MINE", "X MINE"), "k.yaml:3 does not have the form"),
        (MINE.replace("{values: [1]}", "{min: high}"), "k.yaml:6 a number is meant"),
        (MINE.replace("safe:", "<<: &x {}\n    safe:"), "k.yaml:6 "),
    ],
)
def test_a_catalogue_is_read_strictly_and_each_complaint_has_its_line(text: str, said: str) -> None:
    found = problems(text)
    assert any(each.startswith(said) for each in found), found


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x]\nb: [*a, *a]\n",
        "knobs: &a [*a]\n",
        "knobs: " + "[" * 20_000,
        "knobs: {X: {safe: {form: '('}}}\n",
        "knobs: {X: {\0}}\n",
        "---\nknobs: {}\n---\nknobs: {}\n",
    ],
)
def test_hostile_text_ends_in_one_clear_error(text: str) -> None:
    assert all(each.startswith("k.yaml:") for each in problems(text))


def test_words_that_yaml_would_turn_into_something_else_stay_words() -> None:
    text = MINE.replace("[1]", "[on, 1:30, 0x10, null, 1_000]")
    ((declaration, line),) = read(Path("k.yaml"), text).values()
    assert declaration.safe[0].values == ("on", "1:30", "0x10", "null", "1_000")
    assert line == 3


def test_local_files_lie_over_the_shipped_ones(tmp_path: Path, known: Catalogue) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE + MINE.split("knobs:\n")[1].replace("X_MINE", "UCX_MEMTYPE_CACHE"))
    both = layer(Compiled(None).entries(shipped_files()), [path])
    assert [entry.place for entry in both.entries("X_MINE")] == [f"{path}:3"]
    assert [entry.file.name for entry in both.entries("UCX_MEMTYPE_CACHE")] == ["ucx-nixl.yaml", "mine.yaml"]
    merged = both.get("UCX_MEMTYPE_CACHE")
    assert merged
    assert merged.claims[-1].source == "anna"
    assert len(both) == len(known) + 1


def test_local_files_that_cannot_be_read_are_one_error_with_all_problems(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("knobs: 3\n")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="2 errors") as caught:
        layer({}, [tmp_path / "a.yaml", tmp_path / "b.yaml", tmp_path / "gone.yaml"][:2])
    assert [Path(p.where.split(":")[0]).name for p in caught.value.problems] == ["a.yaml", "b.yaml"]


def test_the_users_own_files_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "pdlaunch" / "knobs"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(MINE)
    assert user_folder() == folder
    assert folder / "mine.yaml" in local_files()
    assert "X_MINE" in catalogue()
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert user_folder() == Path.home() / ".config" / "pdlaunch" / "knobs"


def test_a_new_declaration_is_the_sites_for_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert local_folder() == user_folder()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert local_folder() == Path("/etc/pdlaunch/knobs")


def test_what_is_kept_is_what_was_read_and_one_changed_byte_is_read_again(tmp_path: Path) -> None:
    source, cache = tmp_path / "k.yaml", tmp_path / "cache"
    source.write_text(MINE)
    first = Compiled(cache).entries([source])
    assert Compiled(cache).entries([source]) == first
    kept = cache / "catalogue.compiled"
    kept.write_text(kept.read_text().replace('"mine"', '"kept"'))
    assert Compiled(cache).entries([source])["X_MINE"][2].about == "kept"
    source.write_text(MINE.replace("about: mine", "about: ours"))
    assert Compiled(cache).entries([source])["X_MINE"][2].about == "ours"


def test_to_look_something_up_makes_no_cache_where_there_is_none(tmp_path: Path) -> None:
    source = tmp_path / "k.yaml"
    source.write_text(MINE)
    assert set(Compiled(tmp_path / "cache" / "knobs").entries([source])) == {"X_MINE"}
    assert [path.name for path in tmp_path.iterdir()] == ["k.yaml"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff" * 90])
def test_a_damaged_cache_is_written_anew(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "catalogue.compiled").write_bytes(content)
    source = tmp_path / "k.yaml"
    source.write_text(MINE)
    assert set(Compiled(tmp_path).entries([source])) == {"X_MINE"}
    assert (tmp_path / "catalogue.compiled").read_bytes() != content


def test_a_cache_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    source = tmp_path / "k.yaml"
    source.write_text(MINE)
    assert set(Compiled(tmp_path / "file").entries([source])) == {"X_MINE"}


def test_slips_in_300_names_are_caught_and_the_right_name_comes_first(known: Catalogue) -> None:
    """A name is looked for among those of its kind, as a profile's `env` and `args` are."""
    dice = random.Random(20261201)
    kinds = {name: entry.kind for name in known if (entry := known.get(name)) and entry.kind != "machine"}
    sample = dice.sample([name for name in kinds if len(name) > 5], 300)
    tried = [(name, slip) for name in sample for slip in slips(name, dice) if slip not in kinds]
    assert len(tried) > 1000
    right = 0
    for name, slip in tried:
        found = nearest(slip, [each for each, kind in kinds.items() if kind == kinds[name]])
        right += found[:1] == (name,)
    assert right / len(tried) >= 0.95
