from __future__ import annotations

from pathlib import Path

import pytest

from launcher.observe.model_origin import InCache, dangling, in_cache

OLD, NEW = "3a" * 20, "b4" * 20


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    """A model in a Hugging Face cache, as its documentation lays it out."""
    model = tmp_path / "hub" / "models--deepseek-ai--DeepSeek-V4-Flash"
    snapshot = model / "snapshots" / OLD
    for folder in (snapshot, model / "blobs", model / "refs"):
        folder.mkdir(parents=True)
    (model / "blobs" / "1").write_text("{}")
    (snapshot / "config.json").symlink_to("../../blobs/1")
    (model / "refs" / "main").write_text(OLD)
    return snapshot


def test_a_folder_of_its_own_is_in_no_cache(tmp_path: Path) -> None:
    assert in_cache(tmp_path) is None


def test_a_revision_in_the_cache_is_known_also_through_a_link(hub: Path, tmp_path: Path) -> None:
    link = tmp_path / "model"
    link.symlink_to(hub)
    for path in (hub, link):
        found = in_cache(path)
        assert found == InCache(hub.parents[1], OLD, OLD)
        assert not found.moved


def test_a_newer_download_leaves_it_behind(hub: Path) -> None:
    (hub.parents[1] / "refs" / "main").write_text(NEW)
    found = in_cache(hub)
    assert found is not None
    assert (found.wanted, found.moved) == (NEW, True)
    (hub.parents[1] / "refs" / "main").unlink()
    assert in_cache(hub) == InCache(hub.parents[1], OLD, None)


def test_a_blob_that_was_removed_is_seen(hub: Path) -> None:
    assert dangling(hub) == ()
    (hub.parents[1] / "blobs" / "1").unlink()
    assert dangling(hub) == ("config.json",)
