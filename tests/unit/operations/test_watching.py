"""The watcher's loop, at its ends."""

from __future__ import annotations

import threading

from launcher.operations.watching import Watcher
from launcher.store import Store, layout

from ...deployments import until


def test_it_ends_with_a_deployment_that_was_forgotten() -> None:
    store, said = Store(layout("one")), list[str]()
    store.layout.state.mkdir(parents=True)
    watching = threading.Thread(target=Watcher(store, said.append).run)
    watching.start()
    assert watching.is_alive()
    store.layout.state.rmdir()
    until(lambda: not watching.is_alive(), "the watcher has ended", seconds=10)
    assert said == ["one was forgotten: there is nothing left to watch"]
