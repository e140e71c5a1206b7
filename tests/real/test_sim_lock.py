"""A simulated server under the real supervisord: locked, started from its lock, recorded, and its secret kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from launcher.backends.processes import Proc
from launcher.lock import from_yaml
from launcher.operations.locking import lock_profile
from launcher.operations.receipts import read_observed, read_receipt
from launcher.operations.up import up

from ..deployments import Deployment

pytestmark = pytest.mark.real

SECRET = "hf_s3cret-value"


def environment(proc: Proc) -> dict[str, str]:
    content = Path(f"/proc/{proc.pid}/environ").read_bytes().decode()
    return dict(entry.split("=", 1) for entry in content.split("\0") if entry)


def test_what_runs_is_what_the_lock_says(agg: Deployment) -> None:
    token = agg.folder / "token"
    token.write_text(f"{SECRET}\n")
    token.chmod(0o600)
    agg.settings["aggregated"]["secrets"] = {"HF_TOKEN": str(token)}
    agg.env(NCCL_DEBUG="{quotes ' \" $(x)")
    locked = lock_profile(agg.profile)
    done = up(locked.path, agg.told, why="from the lock")
    assert done.arrived is not None
    assert agg.up().arrived is None, "the profile is what the lock says"

    service = locked.lock.intent.services["aggregated-0"]
    proc = agg.procs()["aggregated-0"][0]
    assert proc.cmdline == tuple(word for words in service.argv for word in words)
    running = environment(proc)
    assert running.pop("HF_TOKEN") == SECRET
    assert running.keys() == service.env.keys() | {"PDLAUNCH_DIGEST"}
    assert running["PDLAUNCH_DIGEST"] == locked.lock.intent.services_digests["aggregated-0"]
    assert running["NCCL_DEBUG"] == "{quotes ' \" $(x)"

    generation = agg.store.generation(1)
    assert generation.lock is not None
    assert generation.lock.intent == locked.lock.intent
    receipt, observed = read_receipt(agg.store, 1), read_observed(agg.store, 1)
    assert receipt is not None
    assert observed is not None
    assert receipt.lock == observed.lock == locked.lock.intent.digest
    assert str(receipt.secrets["HF_TOKEN"]).isalnum()
    seen = observed.services["aggregated-0"]
    assert (seen.pid, seen.started, seen.answered) == (proc.pid, proc.started, True)
    assert seen.resolved == {}
    assert seen.decided["page_size"] == 1
    assert "context_length" not in seen.decided, "that was asked for"
    assert "launch_command" not in seen.decided
    assert "HF_TOKEN" not in seen.environment

    places = (locked.path, *(path for path in agg.store.layout.state.rglob("*") if path.is_file()))
    assert [path for path in places if SECRET.encode() in path.read_bytes()] == []


def test_what_was_stopped_comes_back_from_its_lock_after_the_profile_is_gone(agg: Deployment) -> None:
    first = agg.up()
    kept = agg.folder / "noon.lock.yaml"
    shutil.copy(agg.store.generation(first.generation).path / "lock.yaml", kept)
    before = from_yaml(kept.read_text(), kept).intent
    agg.env(NCCL_DEBUG="WARN").up()
    agg.profile.unlink()
    back = up(kept, agg.told, why="back to noon")
    assert back.move.start == ("aggregated-0",)
    lock = agg.store.generation(back.generation).lock
    assert lock is not None
    assert lock.intent == before
    assert agg.state == "ok"


def test_each_start_takes_a_receipt_anew(agg: Deployment) -> None:
    agg.up()
    first = read_observed(agg.store, 1)
    assert first is not None
    assert agg.pdlaunch("restart").returncode == 0
    second = read_observed(agg.store, 1)
    assert second is not None
    assert second.services["aggregated-0"].pid == agg.pids["aggregated-0"] != first.services["aggregated-0"].pid
