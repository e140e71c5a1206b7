from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.engines.cpu.steps import Step, Tell, durations, outstanding, perform

Make = Callable[..., tuple[Step, ...]]


@pytest.fixture
def done() -> list[str]:
    """What was done, in order."""
    return []


@pytest.fixture
def make(tmp_path: Path, done: list[str]) -> Make:
    """Three steps, each making a file; keyword arguments are other inputs than usual."""

    def steps(**inputs: str) -> tuple[Step, ...]:
        def step(name: str) -> Step:
            def run(tell: Tell) -> None:
                tell("at work")
                done.append(name)
                (tmp_path / name).touch()

            return Step(name, inputs.get(name, "usual"), tmp_path / name, run)

        return tuple(step(name) for name in ("one", "two", "three"))

    return steps


def run(steps: tuple[Step, ...], stamps: Path) -> list[tuple[str, str]]:
    """Do what is outstanding; returns what was told."""
    told: list[tuple[str, str]] = []
    perform(outstanding(steps, stamps), stamps, lambda name, detail: told.append((name, detail)))
    return told


def test_a_second_time_there_is_nothing_to_do(make: Make, tmp_path: Path, done: list[str]) -> None:
    told = run(make(), tmp_path / "steps")
    assert told == [("one", "at work"), ("two", "at work"), ("three", "at work")]
    assert outstanding(make(), tmp_path / "steps") == ()
    assert run(make(), tmp_path / "steps") == []
    assert done == ["one", "two", "three"]


def test_a_changed_input_redoes_the_step_and_what_follows(make: Make, tmp_path: Path, done: list[str]) -> None:
    run(make(), tmp_path / "steps")
    done.clear()
    run(make(two="other"), tmp_path / "steps")
    assert done == ["two", "three"]
    assert outstanding(make(two="other"), tmp_path / "steps") == ()


def test_what_is_gone_is_made_again_with_what_follows(make: Make, tmp_path: Path, done: list[str]) -> None:
    run(make(), tmp_path / "steps")
    done.clear()
    (tmp_path / "two").unlink()
    run(make(), tmp_path / "steps")
    assert done == ["two", "three"]


def test_it_goes_on_with_the_step_that_was_cut_short(make: Make, tmp_path: Path, done: list[str]) -> None:
    class KilledError(Exception):
        pass

    def die(_tell: Tell) -> None:
        (tmp_path / "two").touch()
        raise KilledError

    one, two, three = make()
    with pytest.raises(KilledError):
        run((one, Step("two", two.inputs, two.makes, die), three), tmp_path / "steps")
    assert done == ["one"]
    run(make(), tmp_path / "steps")
    assert done == ["one", "two", "three"]


def test_steps_after_a_redone_one_do_not_count_as_done_if_that_is_cut_short(make: Make, tmp_path: Path) -> None:
    run(make(), tmp_path / "steps")
    one, two, three = make(one="other")

    def die(_tell: Tell) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        run((Step("one", one.inputs, one.makes, die), two, three), tmp_path / "steps")
    assert [step.name for step, _ in outstanding(make(), tmp_path / "steps")] == ["one", "two", "three"]


def test_each_step_s_duration_is_known(make: Make, tmp_path: Path) -> None:
    run(make(), tmp_path / "steps")
    assert list(durations(tmp_path / "steps")) == ["one", "two", "three"]
    assert all(seconds >= 0 for seconds in durations(tmp_path / "steps").values())
    assert durations(tmp_path / "none") == {}
