"""The way back: refused by no check, and itself undone where it leads nowhere."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.errors import InputError, PdlaunchError, ReturnedError
from launcher.operations.down import down
from launcher.operations.rollback import rollback
from launcher.store import Store

from ...deployments import Deployment, Told

pytestmark = pytest.mark.real


def two_generations(agg: Deployment, free_port: Callable[[], int]) -> int:
    """Generation 1 on a port of its own, generation 2 serves; the port of 1."""
    port = int(agg.settings["aggregated"]["port"])
    agg.up(why="one")
    agg.settings["aggregated"]["port"] = free_port()
    agg.up(why="two")
    assert agg.store.current() == 2
    return port


def test_what_does_not_come_up_is_undone(agg: Deployment, free_port: Callable[[], int]) -> None:
    """The port of the earlier generation is taken: nothing is stopped, and the one that served serves."""
    port = two_generations(agg, free_port)
    before = agg.pids
    with socket.create_server(("127.0.0.1", port)), pytest.raises(ReturnedError) as caught:
        rollback(agg.store, 1, Told())
    assert caught.value.exit_code == 6
    assert caught.value.message.startswith(f"generation 1 did not come up (port {port}, aggregated-0's http port, is ")
    assert caught.value.message.endswith("); generation 2 serves again")
    assert (agg.state, agg.store.current(), agg.pids) == ("ok", 2, before)
    assert agg.store.pending() is None
    assert rollback(agg.store, 1, Told()).generation == 1


def test_what_was_stopped_before_stays_stopped(agg: Deployment, free_port: Callable[[], int]) -> None:
    port = two_generations(agg, free_port)
    down(agg.store, Told())
    with socket.create_server(("127.0.0.1", port)), pytest.raises(PdlaunchError) as caught:
        rollback(agg.store, 1, Told())
    assert caught.value.exit_code == 1
    agg.assert_nothing_left()
    assert agg.store.current() == 2


def test_what_crashes_on_the_way_is_undone_too(agg: Deployment) -> None:
    """The first generation's server can no longer start, though nothing of the generation was touched."""
    secret = agg.folder / "token"
    secret.write_text("x")
    secret.chmod(0o600)
    agg.settings["engine"]["secrets"] = {"HF_TOKEN": str(secret)}
    agg.up()
    del agg.settings["engine"]["secrets"]
    agg.up()
    secret.unlink()
    told = Told()
    with pytest.raises(ReturnedError, match=r"generation 1 did not come up .*; generation 2 serves again"):
        rollback(agg.store, 1, told)
    assert "returning  to generation 2: aggregated-0  died after" in told.text
    assert (agg.state, agg.store.current()) == ("ok", 2)


def test_no_check_stands_in_the_way(agg: Deployment, free_port: Callable[[], int]) -> None:
    """A profile that no longer parses, a checkout that is gone: the generation has all that it needs."""
    two_generations(agg, free_port)
    agg.profile.write_text("name: [broken\n")
    done = agg.pdlaunch("rollback", "--to", "1", "--yes", "-m", "agents hang")
    assert (done.returncode, done.stdout.partition(". ")[0]) == (0, "back       generation 1")
    assert (agg.state, agg.status.why) == ("ok", "agents hang")


def edited(store: Store, number: int, name: str) -> Path:
    path = store.layout.generation(number) / name
    text = path.read_text()
    path.chmod(0o644)
    path.write_text(text + "\n# edited\n")
    return path


def test_an_edited_generation_is_not_started_and_said_to_be_damaged(
    agg: Deployment, free_port: Callable[[], int]
) -> None:
    two_generations(agg, free_port)
    path = edited(agg.store, 1, "aggregated-0.sh")
    with pytest.raises(PdlaunchError) as caught:
        rollback(agg.store, 1, Told())
    assert caught.value.message.startswith("generation 1 is not as it was recorded: ")
    assert path.name in caught.value.message
    assert (agg.state, agg.store.current()) == ("ok", 2)


def test_up_records_anew_what_was_edited(agg: Deployment) -> None:
    agg.up()
    edited(agg.store, 1, "aggregated-0.sh")
    done = agg.up()
    assert done.generation == 2
    assert (agg.state, agg.store.verify(2)) == ("ok", [])


@pytest.mark.parametrize("name", ["manifest.json", "plan.json", "lock.yaml"])
def test_one_that_is_damaged_is_in_nobodys_way(agg: Deployment, name: str) -> None:
    """`up` of just what it was records that anew; going between the others, `history` and `prune` do not mind."""
    agg.up()
    agg.env(PDLAUNCH_SIM_TOKEN_MS="2").up()
    edited(agg.store, 1, name).write_text("{")
    assert agg.env(PDLAUNCH_SIM_TOKEN_MS=None).up().generation == 3
    assert rollback(agg.store, 2, Told()).generation == 2
    assert agg.state == "ok"
    edited(agg.store, 2, name).write_text("{")
    for words in (("history",), ("plan", str(agg.profile)), ("diff", "1", "3"), ("prune", "--keep", "1")):
        said = agg.pdlaunch(*words)
        assert "Traceback" not in said.stderr
        assert said.returncode in ((0, 1, 3) if words[0] == "diff" else (0,)), said.stderr
    assert agg.store.numbers() == (2, 3)
    assert rollback(agg.store, 3, Told()).generation == 3
    assert agg.state == "ok"


def test_a_generation_that_never_was(agg: Deployment) -> None:
    agg.up()
    with pytest.raises(InputError, match="agg has no generation 7: there are 1 to 1"):
        rollback(agg.store, 7, Told())


def test_services_run_the_copy_of_their_generation(agg: Deployment) -> None:
    agg.up()
    main = agg.procs()["aggregated-0"][0]
    environ = dict(
        text.split("=", 1) for text in Path(f"/proc/{main.pid}/environ").read_text().split("\0") if "=" in text
    )
    copy = Path(environ["PYTHONPATH"])
    assert copy.is_relative_to(agg.store.layout.engines)
    assert (copy / "launcher/simulator/__main__.py").stat().st_mode & 0o222 == 0
    assert list(copy.rglob("*.pyc")) == []
