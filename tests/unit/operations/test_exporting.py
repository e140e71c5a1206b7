"""The watcher's page of metrics over HTTP, and what it counts by itself."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from launcher.observe.http import Endpoint
from launcher.operations.exporting import HOST, Exporter
from launcher.operations.targets import targets_file
from launcher.profile import Watch
from launcher.store import Store
from launcher.watch import Body, Look, Process, Router, Server, Verdict

from ..store.making import BUNDLE, PROFILE, a_plan, a_store


def serving(folder: Path, port: int | None) -> Store:
    store = a_store(folder)
    plan = a_plan().model_copy(update={"watch": Watch(metrics_port=port)})
    store.commit(PROFILE, plan, BUNDLE, snapshot_digest=None, by="anna", why=None, source=None)
    return store


def seen(pid: int = 4, changing: str | None = None) -> tuple[Look, Verdict]:
    body = Body(Process(pid, 1, "python"), 1.0)
    now = time.monotonic()
    look = Look(now, time.time(), 1, {"decode-0": Server(now, body, "yes")}, Router(now, body, "yes"), changing)
    return look, Verdict(look.time, 1, "changing" if changing else "idle", {})


@contextmanager
def exporting(store: Store) -> Iterator[tuple[Exporter, list[str]]]:
    said: list[str] = []
    exporter = Exporter(store, said.append)
    try:
        yield exporter, said
    finally:
        exporter.close()


def test_it_serves_the_page_and_nothing_else(tmp_path: Path, free_port: Callable[[], int]) -> None:
    port = free_port()
    with exporting(serving(tmp_path, port)) as (exporter, said):
        exporter(*seen())
        assert said == [f"metrics at http://127.0.0.1:{port}/metrics"]
        page = Endpoint(HOST, port).get("/metrics")
        assert page.ok
        assert 'pdlaunch_state{deployment="tiny",state="idle"} 1\n' in page.text
        assert Endpoint(HOST, port).get("/metrics?x").ok
        assert Endpoint(HOST, port).get("/").status == 404
        assert Endpoint(HOST, port).post("/metrics", {}).status == 501
    assert Endpoint(HOST, port).get("/metrics").refused


def test_a_port_that_is_taken_is_told_once_and_tried_again(
    tmp_path: Path, free_port: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    monkeypatch.setattr("launcher.operations.exporting._AGAIN", 0.0)
    with exporting(serving(tmp_path, port)) as (exporter, said):
        with socket.create_server((HOST, port)):
            exporter(*seen())
            exporter(*seen())
            assert said == [f"metrics are not served: port {port}: Address already in use"]
        exporter(*seen())
        assert said[1:] == [f"metrics at http://127.0.0.1:{port}/metrics"]


def test_without_a_port_nobody_is_served(tmp_path: Path) -> None:
    with exporting(serving(tmp_path, None)) as (exporter, said):
        exporter(*seen())
        assert said == []


def test_who_comes_back_by_itself_is_counted(tmp_path: Path) -> None:
    with exporting(serving(tmp_path, None)) as (exporter, _):
        for pid, changing in ((4, None), (5, None), (6, "anna is running `restart`"), (6, None), (7, None)):
            exporter(*seen(pid, changing))
        gone = seen()[0]
        exporter(replace(gone, servers={"decode-0": Server(gone.at)}), seen()[1])
        exporter(*seen(8))
        page = exporter.text()
    assert 'restarts_total{deployment="tiny",service="decode-0",role="decode"} 3\n' in page


def test_the_targets_are_written_once_and_again_where_they_are_gone(tmp_path: Path) -> None:
    store = serving(tmp_path, None)
    with exporting(store) as (exporter, _):
        exporter(*seen())
        targets_file(store.layout).unlink()
        look, verdict = seen()
        exporter(replace(look, stopped=True), verdict)
        assert not targets_file(store.layout).exists(), "down took them away"
        exporter(*seen())
        assert targets_file(store.layout).exists()
