from __future__ import annotations

from pathlib import Path

import pytest

from launcher.errors import InputError, PdlaunchError
from launcher.knobs.catalogue import catalogue
from launcher.operations import declaring
from launcher.operations.declaring import propose, write
from launcher.profile import load

NAME = "SGLANG_SWA_EVICTION_INTERVAL"
PROFILE = """\
name: p   # a comment that stays
model: /m
engine: {{venv: /opt/venv}}
prefill: {{gpus: 0-3}}
decode:
  gpus: 4-7
  env:
    {name}: 64
router: {{port: 8000}}
"""


@pytest.fixture(autouse=True)
def own_catalogue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's catalogue in a folder of the test, whoever runs it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("PDLAUNCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PDLAUNCH_BY", "anna")
    folder = tmp_path / "config" / "pdlaunch" / "knobs"
    monkeypatch.setattr(declaring, "local_folder", lambda: folder)
    return folder


def profile(tmp_path: Path, more: str = "", name: str = NAME) -> Path:
    path = tmp_path / "p.yaml"
    path.write_text(PROFILE.format(name=name) + more)
    return path


def test_a_profile_gets_one_entry_and_nothing_else_of_it_changes(tmp_path: Path) -> None:
    path = profile(tmp_path)
    before = path.read_text()
    done = propose(NAME, why='soaked: "3" days', profile=path)
    assert path.read_text() == before
    write(done)
    assert path.read_text() == before + f'\nknobs:\n  {NAME}:\n    safe: "64"\n    why: "soaked: \\"3\\" days"\n'
    knob = load(path).profile.knobs[NAME]
    assert (knob.safe, knob.why) == ("64", 'soaked: "3" days')
    assert propose(NAME, why="again", profile=path).text is None


def test_entries_that_are_there_stay(tmp_path: Path) -> None:
    path = profile(tmp_path, "knobs:  # ours\n    OTHER:\n        safe: '1'\nbackend: supervisord")
    write(propose(NAME, why="soaked", profile=path))
    knobs = load(path).profile.knobs
    assert {name: knob.safe for name, knob in knobs.items()} == {NAME: "64", "OTHER": "1"}
    assert path.read_text().endswith("        safe: '1'\nbackend: supervisord")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("knobs: {OTHER: {safe: '1'}}\n", "writes `knobs` on one line"),
        (f"knobs:\n  {NAME}: {{bad: {{'1': stops}}}}\n", f":11 declares {NAME} already"),
    ],
)
def test_what_cannot_be_edited_safely_is_left_to_a_person(tmp_path: Path, more: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        propose(NAME, why="soaked", profile=profile(tmp_path, more))


def test_without_a_profile_the_value_goes_into_the_local_catalogue(own_catalogue: Path) -> None:
    done = propose(NAME, why="soaked", value="64")
    assert (done.path, done.path.exists()) == (own_catalogue / f"{NAME}.yaml", False)
    write(done)
    entry = catalogue().entries(NAME)[-1]
    assert entry.file == done.path
    assert entry.declaration.safe[0].values == ("64",)
    assert (entry.declaration.claims[0].says, entry.declaration.claims[0].source) == ("soaked", "anna")
    assert propose(NAME, why="again", value="64").text is None


def test_a_name_that_nobody_knows_can_be_declared_value_by_value(own_catalogue: Path) -> None:
    write(propose("SITE_OWN", why="ours", value='a\'b: {"c"} # d'))
    assert catalogue().entries("SITE_OWN")[0].declaration.safe[0].values == ('a\'b: {"c"} # d',)
    with pytest.raises(InputError, match="is not a declaration's to admit"):
        propose("SITE_OWN", why="ours", value="other")


def test_a_declaration_by_hand_is_not_overwritten(own_catalogue: Path) -> None:
    own_catalogue.mkdir(parents=True)
    path = own_catalogue / f"{NAME}.yaml"
    written = (
        f"knobs:\n  {NAME}:\n    about: ours\n    type: int\n    safe: unknown\n    establish: a run\n"
        "    claims: [{says: x, source: y, status: inferred}]\n"
    )
    path.write_text(written)
    with pytest.raises(InputError, match="by hand"):
        propose(NAME, why="soaked", value="64")
    assert path.read_text() == written


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("SGLANG_SM120_MMA_TARGET_CTAS", "512", "known bad: decode hangs"),
        ("SGLANG_SM120_MMA_TARGET_CTAS", "256", "safe: unset"),
        ("SGLANG_DISAGGREGATION_WAITING_TIMEOUT", "5", "safe: 300 to 900 s"),
        ("SGLANG_CACHE_DIR", "/tmp/x", "the launcher decides SGLANG_CACHE_DIR"),
        ("context-length", "5", "is no name of a variable"),
        ("A B", "5", "is no name of a variable"),
        (NAME, "6\n4", "cannot be printed"),
    ],
)
def test_nothing_is_widened(tmp_path: Path, name: str, value: str, said: str) -> None:
    for path in (None, profile(tmp_path)):
        with pytest.raises(InputError, match=said):
            propose(name, why="faster", value=value, profile=path)


@pytest.mark.parametrize("why", ["", "  ", "two\nlines"])
def test_a_declaration_needs_a_reason(why: str) -> None:
    with pytest.raises(InputError, match="needs a reason"):
        propose(NAME, why=why, value="64")


def test_which_value_has_to_be_clear(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="which value of"):
        propose(NAME, why="soaked")
    with pytest.raises(InputError, match="which value of SITE_OWN"):
        propose("SITE_OWN", why="ours", profile=profile(tmp_path))
    several = profile(tmp_path)
    several.write_text(
        several.read_text().replace("prefill: {gpus: 0-3}", f"prefill: {{gpus: 0-3, env: {{{NAME}: 9}}}}")
    )
    with pytest.raises(InputError, match=f"the profile has several of {NAME}: 9, 64"):
        propose(NAME, why="soaked", profile=several)


def test_a_folder_that_cannot_be_made_is_said_in_words(tmp_path: Path, own_catalogue: Path) -> None:
    (tmp_path / "config").write_text("")
    with pytest.raises(PdlaunchError, match=f"cannot declare {NAME}"):
        write(propose(NAME, why="soaked", value="64"))
