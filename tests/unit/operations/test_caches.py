"""The cache folders of a plan, made before the start and given to who serves."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from launcher.operations.caches import prepare_caches
from launcher.plan import Service, Variable

from ..store.making import WRITTEN, a_layout, a_plan, a_service


def with_cache(user: str | None = None) -> Service:
    env = (
        Variable(name="A", value="key/jit", origin=WRITTEN, root="cache"),
        Variable(name="B", value="elsewhere", origin=WRITTEN, root="state"),
        Variable(name="C", value="plain", origin=WRITTEN),
    )
    return a_service("decode-0").model_copy(update={"env": env, "user": user})


def test_each_is_made_once(tmp_path: Path) -> None:
    layout = a_layout(tmp_path)
    for _ in range(2):
        prepare_caches(a_plan(with_cache()), layout)
    assert (layout.cache / "key/jit").is_dir()
    assert not layout.state.exists()


def test_what_root_makes_for_another_user_is_that_user_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout, given = a_layout(tmp_path), list[tuple[Path, int, int]]()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda path, uid, gid: given.append((Path(path), uid, gid)))
    prepare_caches(a_plan(with_cache("nobody")), layout)
    nobody = pwd.getpwnam("nobody")
    assert {path for path, _, _ in given} == {layout.cache / "key", layout.cache / "key/jit"}
    assert {(uid, gid) for _, uid, gid in given} == {(nobody.pw_uid, nobody.pw_gid)}


def test_what_another_had_written_before_is_given_too_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout, given = a_layout(tmp_path), set[Path]()
    prepare_caches(a_plan(with_cache()), layout)
    kernel = layout.cache / "key/jit/kernel.so"
    kernel.touch()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda path, *_: given.add(Path(path)))
    prepare_caches(a_plan(with_cache("nobody" if os.getuid() != pwd.getpwnam("nobody").pw_uid else "root")), layout)
    assert given == {kernel.parent, kernel}
    given.clear()
    prepare_caches(a_plan(with_cache(pwd.getpwuid(os.getuid()).pw_name)), layout)
    assert given == set()
