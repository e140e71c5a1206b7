"""Run files: written here and by the event listener, true whoever dies in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher.backends.supervisord import runs
from launcher.backends.supervisord.runs import Run
from launcher.errors import PdlaunchError
from launcher.render import Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(deployment="d", state=tmp_path, cache=tmp_path, run=tmp_path)
    runs.folder(layout).mkdir()
    return layout


def test_a_service_is_wanted_from_asking_to_withdrawing(layout: Layout) -> None:
    assert runs.read(layout, "decode-0") is None
    runs.ask(layout, "decode-0")
    assert runs.read(layout, "decode-0") == Run(pid=None, restarts=0)
    runs.started(layout, "decode-0", 12)
    assert runs.read(layout, "decode-0") == Run(pid=12, restarts=0)
    runs.withdraw(layout, "decode-0")
    assert runs.read(layout, "decode-0") is None
    runs.withdraw(layout, "decode-0")


def test_what_the_listener_appends_is_read(layout: Layout) -> None:
    path = runs.folder(layout) / "decode-0.runs"
    path.write_text("1.0 asked\n1.1 running 12\n9.0 again\n9.1 running 13\n10.0 again\n10.2 running 14\n11.0 left\n")
    assert runs.read(layout, "decode-0") == Run(pid=14, restarts=2)


def test_asking_again_gives_a_clean_record(layout: Layout) -> None:
    path = runs.folder(layout) / "decode-0.runs"
    path.write_text("1.0 asked\n9.0 again\n9.1 running 13\n11.0 left\n")
    runs.ask(layout, "decode-0")
    assert runs.read(layout, "decode-0") == Run(pid=None, restarts=0)


@pytest.mark.parametrize("text", ["", "\n", "1.0", "1.0 asked\n2.0 runn", "1.0 asked\n2.0 running"])
def test_a_record_that_was_cut_off_is_read_as_far_as_it_goes(layout: Layout, text: str) -> None:
    (runs.folder(layout) / "decode-0.runs").write_text(text)
    assert runs.read(layout, "decode-0") == Run(pid=None, restarts=0)


def test_a_start_that_is_noted_late_makes_nothing_wanted(layout: Layout) -> None:
    runs.started(layout, "decode-0", 12)
    assert runs.read(layout, "decode-0") is None


def test_what_cannot_be_written_is_said(layout: Layout) -> None:
    runs.folder(layout).rmdir()
    with pytest.raises(PdlaunchError, match=r"cannot write .*decode-0\.runs: No such file or directory"):
        runs.ask(layout, "decode-0")
