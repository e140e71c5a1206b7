"""Ending a service: TERM, time to drain, the whole tree, and proof."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from launcher.backends import ending
from launcher.backends.ending import Ending, end
from launcher.backends.processes import Proc, look, marked
from launcher.errors import PdlaunchError
from launcher.plan.model import MARK
from launcher.profile.model import Stop

LONG = Stop(drain=3000, kill=3600)
"""Longer than any test may take."""
READY = "import signal, sys, time; print('ready', flush=True); "
WAIT = "time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {READY}{WAIT}"


@dataclass
class Server:
    """A stand-in that is ready."""

    popen: subprocess.Popen[str]
    ending: Ending
    asked: list[str]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts stand-ins: what runs as ``decode-0`` below `tmp_path`; none outlives the test."""
    popens: list[subprocess.Popen[str]] = []

    def start(code: str = READY + WAIT, name: str = "decode-0") -> Server:
        popen = subprocess.Popen(
            [sys.executable, "-c", code],
            env={MARK: str(tmp_path / name)},
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        popens.append(popen)
        assert popen.stdout is not None
        assert popen.stdout.readline() == "ready\n"
        main, asked = look(tmp_path)[popen.pid], []

        def term() -> None:
            asked.append(name)
            main.signal(signal.SIGTERM)

        return Server(popen, Ending(name, main, term), asked)

    yield start
    for proc in (p for procs in marked(tmp_path).values() for p in procs):
        proc.signal(signal.SIGKILL)
    for popen in popens:
        popen.communicate()


def test_a_server_that_drains_is_waited_for(tmp_path: Path, server: Callable[..., Server]) -> None:
    drains = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.3), sys.exit(7))); "
    one = server(f"{drains}print('ready', flush=True); {WAIT}")
    end([one.ending], tmp_path, LONG, drain=True)
    assert (one.popen.wait(), one.asked) == (7, ["decode-0"])


def test_the_limits_are_the_end(tmp_path: Path, server: Callable[..., Server]) -> None:
    one = server(STUBBORN)
    end([one.ending], tmp_path, Stop(drain=0.05, kill=0.2), drain=True)
    assert one.popen.wait() == -signal.SIGKILL


def test_busy_is_asked_once_and_ends_the_patience(tmp_path: Path, server: Callable[..., Server]) -> None:
    servers = [server(STUBBORN, "prefill-0"), server(STUBBORN, "decode-0")]
    asked = []

    def busy(name: str) -> bool:
        asked.append(name)
        return True

    end([s.ending for s in servers], tmp_path, Stop(drain=0.05, kill=3600), drain=True, busy=busy)
    assert asked == ["prefill-0", "decode-0"]
    assert [s.popen.wait() for s in servers] == [-signal.SIGKILL, -signal.SIGKILL]


def test_without_draining_nobody_is_asked(tmp_path: Path, server: Callable[..., Server]) -> None:
    one = server()
    end([one.ending], tmp_path, LONG, drain=False)
    assert (one.popen.wait(), one.asked) == (-signal.SIGKILL, [])


def test_remains_are_not_asked_either(tmp_path: Path, server: Callable[..., Server]) -> None:
    one = server()
    one.ending.main = None
    end([one.ending], tmp_path, LONG, drain=True)
    assert (one.popen.wait(), one.asked) == (-signal.SIGKILL, [])


def test_a_stopped_child_that_has_left_the_group_goes_too(tmp_path: Path, server: Callable[..., Server]) -> None:
    child = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {WAIT!r}], start_new_session=True); "
    one = server(child.replace("'time.", "'import time; time.") + READY + WAIT)
    kid = child_of(one, tmp_path)
    os.kill(kid.pid, signal.SIGSTOP)
    end([one.ending], tmp_path, LONG, drain=True)
    assert not kid.alive()
    assert one.popen.wait() == -signal.SIGTERM


def test_a_descendant_that_cleaned_its_environment_and_slipped_away_was_recorded(
    tmp_path: Path, server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A descendant while the main process lives; afterwards nothing but the record leads to it.
    child = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], env={}, start_new_session=True)"
    one = server(f"import subprocess, sys, time; {child}; print('ready', flush=True); time.sleep(60)")
    kid = child_of(one, tmp_path)
    assert kid.service is None
    end([one.ending], tmp_path, LONG, drain=True)
    assert not kid.alive()


def test_others_are_left_alone(tmp_path: Path, server: Callable[..., Server]) -> None:
    mine, other = server(name="decode-0"), server(name="decode-1")
    end([mine.ending], tmp_path, LONG, drain=False)
    assert other.popen.poll() is None


def test_only_what_was_named_where_the_mark_is_shared(tmp_path: Path, server: Callable[..., Server]) -> None:
    twin, supervised = server(), server()
    main = twin.ending.main
    assert main is not None
    end([Ending("decode-0", main, twin.ending.term, roots=(main,), marked=False)], tmp_path, LONG, drain=True)
    assert twin.popen.wait() == -signal.SIGTERM
    assert supervised.popen.poll() is None


def test_what_cannot_be_killed_is_named(
    tmp_path: Path, server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = server()
    monkeypatch.setattr(Proc, "signal", lambda *_: None)
    monkeypatch.setattr(ending, "_GONE", 0.1)
    with pytest.raises(PdlaunchError, match=rf"cannot be killed: pid {one.popen.pid} \(.*python.* -c "):
        end([one.ending], tmp_path, LONG, drain=False)
    monkeypatch.undo()


def test_another_users_process_is_named(
    tmp_path: Path, server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = server()

    def refused(pid: int, number: int) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", refused)
        with pytest.raises(PdlaunchError, match=rf"pid {one.popen.pid} .* belongs to another user"):
            end([one.ending], tmp_path, LONG, drain=False)


def test_a_socket_that_outlives_its_service_is_named_with_its_port_and_holder(
    tmp_path: Path, server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = server()
    one.popen.kill()
    one.popen.wait()
    monkeypatch.setattr(ending, "_GONE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as kept:
        # As if the service had opened it and given it to a process that nobody can know of: this one.
        inode = str(os.fstat(kept.fileno()).st_ino)
        one.ending.sockets[inode] = kept.getsockname()[1]
        with pytest.raises(PdlaunchError, match=rf"port {kept.getsockname()[1]} is still held by pid {os.getpid()} "):
            end([one.ending], tmp_path, LONG, drain=False)
    assert one.popen.wait() == -signal.SIGKILL


def test_nothing_to_end_is_fine(tmp_path: Path) -> None:
    end([], tmp_path, LONG, drain=True)
    end([Ending("decode-0", None, lambda: None)], tmp_path, LONG, drain=True)
    assert marked(tmp_path) == {}


def test_a_main_process_that_ended_meanwhile_is_fine(tmp_path: Path, server: Callable[..., Server]) -> None:
    one = server()
    one.popen.kill()
    one.popen.wait()
    end([one.ending], tmp_path, LONG, drain=True)
    assert one.asked == []


def child_of(one: Server, state: Path) -> Proc:
    main = one.ending.main
    assert main is not None
    return look(state).tree([main])[1]
