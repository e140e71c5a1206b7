from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from launcher.engines.snapshot import snapshot
from launcher.errors import PdlaunchError
from launcher.store import Hold, Store, claim, holders, release, writer
from launcher.store.files import remove_tree

from .crash import Call, intercepted, killed_at, points
from .making import a_generation, a_layout, a_store

SOURCE = {"sglang/version.py": "x = 1\n", "sglang/srt/server.py": "y = 1\n"}


def a_source(folder: Path) -> Path:
    for name, text in SOURCE.items():
        (folder / "fork" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "fork" / name).write_text(text)
    return folder / "fork" / "sglang"


def nobody(hold: Hold) -> bool:
    return False


def take(store: Store, source: Path) -> str:
    return snapshot({"sglang": source}, store.layout.engines, cache=store.layout.cache / "hashes.json").digest


def an_earlier_state(folder: Path) -> Store:
    """Three generations on two snapshots; the second one runs."""
    store, source = a_store(folder), a_source(folder)
    for chunk in (1024, 2048, 4096):
        a_generation(store, chunk=chunk, snapshot=take(store, source))
        (source / "version.py").write_text("x = 2\n")
    store.set_current(2, by="anna")
    claim(store.layout, ["gpu-0", "port-1"], by="anna", is_alive=nobody)
    return store


def up(folder: Path) -> None:
    """What `up` does to the store, in its order."""
    store = Store(a_layout(folder))
    with writer(store.layout, "up", by="anna"):
        store.recover(by="anna")
        if store.pending() is not None:
            store.finish("undone")
        (folder / "fork" / "sglang" / "version.py").write_text("x = 3\n")
        digest = take(store, folder / "fork" / "sglang")
        store.begin("up", from_generation=store.current(), to_generation=store.next_number(), by="anna", why="more")
        generation = a_generation(store, chunk=8192, snapshot=digest)
        claim(store.layout, ["gpu-0", "gpu-1", "port-1"], by="anna", is_alive=nobody)
        store.advance("start")
        store.set_current(generation.number, by="anna")
        release(store.layout, keep=["gpu-0", "gpu-1"])
        store.finish("done")


def prune(folder: Path) -> None:
    store = Store(a_layout(folder))
    with writer(store.layout, "prune", by="anna"):
        store.recover(by="anna")
        for number in store.numbers():
            if number != store.current():
                store.remove(number, by="anna")
        store.remove_unused_snapshots()


def recover(folder: Path) -> None:
    store = Store(a_layout(folder))
    with writer(store.layout, "up", by="bob"):
        store.recover(by="bob")


def assert_whole(folder: Path) -> Store:
    """What must hold after a kill, before and after the next command has cleaned up."""
    store = Store(a_layout(folder))
    current = store.current()
    assert current in store.numbers()
    for number in store.numbers():
        complaints = store.verify(number)
        # Killed between the rename and the journal's line, the generation is whole and not yet known.
        assert complaints in ([], [f"generation {number}: the journal does not know it"])
    unused = store.next_number()
    recover(folder)
    assert store.next_number() >= unused
    for number in store.numbers():
        assert store.verify(number) == []
    assert store.journal.damage() == []
    assert list(store.layout.state.rglob("*.tmp")) == []
    assert [e.generation for e in store.journal.events() if e.what == "current"][-1] == store.current()
    with writer(store.layout, "up", by="bob"):
        again = store.recover(by="bob")
    assert (again.removed, again.recorded, again.pending) == ((), (), store.pending())
    assert len({e.generation for e in store.journal.events() if e.what == "committed"}) == len(
        [e for e in store.journal.events() if e.what == "committed"]
    )
    return store


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody pulls the plug here, and thousands of syncs would take minutes on a busy disk; they are still points."""
    monkeypatch.setattr("launcher.engines.snapshot._sync_filesystem", lambda _: None)
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Path]]:
    """Each call gives a fresh copy of the earlier state, at the same path; in memory, where there is such a folder."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as folder:
        now, kept = Path(folder, "now"), Path(folder, "kept")
        monkeypatch.setenv("PDLAUNCH_HOLDS_DIR", str(now / "holds"))
        an_earlier_state(now)
        now.rename(kept)

        def fresh() -> Path:
            remove_tree(now)
            shutil.copytree(kept, now, symlinks=True)
            return now

        yield fresh
        remove_tree(now)
        remove_tree(kept)


def test_up_killed_anywhere_leaves_the_old_state_or_the_new_one(states: Callable[[], Path]) -> None:
    for point in points():
        folder = states()
        if not killed_at(point, lambda: up(folder)):  # noqa: B023 - it runs before the loop goes on
            break
        store = assert_whole(folder)
        assert store.numbers() in ((1, 2, 3), (1, 2, 3, 4))
        assert store.current() in (2, 4)
        pending = store.pending()
        assert pending is not None or store.current() == 4 or store.numbers() == (1, 2, 3)
        assert {"gpu-0"} <= set(holders()) <= {"gpu-0", "gpu-1", "port-1"}
        used = store.next_number()
        up(folder)
        assert store.current() == store.numbers()[-1] >= used
        assert store.pending() is None
        assert set(holders()) == {"gpu-0", "gpu-1"}
    assert point > 80


def test_prune_killed_anywhere_keeps_what_stays(states: Callable[[], Path]) -> None:
    for point in points():
        folder = states()
        if not killed_at(point, lambda: prune(folder)):  # noqa: B023 - it runs before the loop goes on
            break
        store = assert_whole(folder)
        assert store.current() == 2
        prune(folder)
        assert store.numbers() == (2,)
        assert store.next_number() == 4
        assert store.verify(2) == []
        assert len([path for path in store.layout.engines.iterdir() if path.is_dir()]) == 1
    assert point > 40


@pytest.mark.parametrize("first", [3, 17, 40, 55, 66, 80])
def test_recovery_killed_anywhere_can_be_repeated(states: Callable[[], Path], first: int) -> None:
    for point in points():
        folder = states()
        assert killed_at(first, lambda: up(folder))  # noqa: B023 - it runs before the loop goes on
        if not killed_at(point, lambda: recover(folder)):  # noqa: B023 - it runs before the loop goes on
            break
        assert_whole(folder)


@pytest.mark.parametrize("refusal", [errno.ENOSPC, errno.EIO])
def test_up_refused_anywhere_says_so_and_loses_nothing(states: Callable[[], Path], refusal: int) -> None:
    for point in points():
        folder, passed = states(), 0

        def refuse(call: Call) -> None:
            nonlocal passed
            passed += call[0] in {"open", "write", "mkdir", "rename", "link", "fsync"}
            if passed == point:  # noqa: B023 - it runs before the loop goes on
                passed += 1
                raise OSError(refusal, os.strerror(refusal), str(folder))  # noqa: B023 - as above

        with contextlib.suppress(PdlaunchError), intercepted(refuse):  # any other error fails the test
            up(folder)
        if passed < point:
            break
        store = assert_whole(folder)
        assert {1, 2, 3} <= set(store.numbers())
        up(folder)
        assert store.current() == store.numbers()[-1]


def test_nothing_is_written_behind_the_harness(states: Callable[[], Path]) -> None:
    """Every file opened for writing below the state passes through `os.open`, where the harness stands."""
    folder = states()
    announced: list[str] = []
    opened: list[str] = []
    listening = True

    def listen(event: str, args: tuple[object, ...]) -> None:
        if listening and event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR):
            opened.append(str(args[0]))

    sys.addaudithook(listen)  # cannot be taken away again, hence the switch
    with intercepted(lambda call: announced.append(str(call[1][0])) if call[0] == "open" else None):
        up(folder)
    listening = False
    assert opened
    state = str(folder / "state")
    assert [path for path in opened if path.startswith(state) and path not in announced] == []


class Disk:
    """What a power failure would take: everything that was written and not yet synced, by path."""

    def __init__(self, state: Path) -> None:
        self.state = str(state)
        self.faults: list[str] = []
        self._open: dict[int, str] = {}
        self._dirty: set[str] = set()
        self._renamed: set[str] = set()

    def note(self, call: Call, result: object) -> None:
        name, args, _ = call
        if name == "open" and isinstance(result, int):
            path = self._open[result] = os.path.realpath(f"/proc/self/fd/{result}")
            if args[1] & os.O_CREAT:
                self._dirty.add(str(Path(path).parent))
        elif name in {"mkdir", "symlink"}:
            self._dirty.add(str(Path(args[name == "symlink"]).parent))
        elif name == "write":
            self._later(f"write {self._open[args[0]]}")
            self._dirty.add(self._open[args[0]])
        elif name == "fsync":
            self._dirty.discard(self._open[args[0]])
            self._renamed.discard(self._open[args[0]])
        elif name in {"rename", "replace"}:
            self._rename(*map(str, args))

    def sync_all(self, _: Path) -> None:
        self._dirty.clear()
        self._renamed.clear()

    def at_the_end(self) -> list[str]:
        self._later("the end")
        return self.faults

    def _rename(self, source: str, target: str) -> None:
        self._later(f"rename to {target}")
        below = sorted(path for path in self._dirty if path == source or path.startswith(f"{source}/"))
        self.faults += [f"{path} was not on the disk when it became {target}" for path in below]
        if target.startswith(self.state):
            self._renamed.add(str(Path(target).parent))

    def _later(self, what: str) -> None:
        """The next step must not reach the disk before the name that the last one gave, or before its journal line."""
        journals = [path for path in self._dirty if path.endswith("journal.jsonl") and path not in what]
        self.faults += [f"{path} was not on the disk before: {what}" for path in journals]
        self.faults += [f"a new name in {folder} was not on the disk before: {what}" for folder in self._renamed]


@pytest.mark.parametrize("operation", [up, prune])
def test_each_step_is_on_the_disk_before_the_next(
    states: Callable[[], Path], monkeypatch: pytest.MonkeyPatch, operation: Callable[[Path], None]
) -> None:
    folder = states()
    disk = Disk(folder / "state")
    monkeypatch.setattr("launcher.engines.snapshot._sync_filesystem", disk.sync_all)
    with intercepted(after=disk.note):
        operation(folder)
    assert [fault for fault in disk.at_the_end() if "holds" not in fault] == []
