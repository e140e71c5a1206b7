from __future__ import annotations

import base64
import hashlib
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from launcher.engines.manifest import manifest
from launcher.lock import Read, intent_of
from launcher.operations.checking import Checked
from launcher.operations.engine_reading import installed, read_engine, same_packages, with_edits
from launcher.operations.facts import gather
from launcher.plan import Plan, resolve
from launcher.profile import load

SOURCE = {"sglang/__init__.py": "", "sglang/version.py": '__version__ = "0.5.23"\n'}
UCP = b"ucx"


def record(files: dict[str, bytes]) -> str:
    def row(name: str, content: bytes) -> str:
        return f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip('=')},1"

    return "\n".join(row(name, content) for name, content in files.items()) + "\n"


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """A serving environment as its files describe it."""
    prefix = tmp_path / "venv"
    site = prefix / "lib/python3.11/site-packages"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/python").symlink_to(sys.executable)
    (prefix / "pyvenv.cfg").write_text("version = 3.11.7\n")
    for name, text in SOURCE.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    for name in ("sglang-0.5.23", "torch-2.9.1", "nixl-1.5.1", "nixl_cu13-1.5.1", "sglang_router-0.3.2"):
        (site / f"{name}.dist-info").mkdir()
    (site / "sglang-0.5.23.dist-info/RECORD").write_text(record({n: t.encode() for n, t in SOURCE.items()}))
    (site / "nixl_cu13-1.5.1.dist-info/RECORD").write_text(
        record({"nixl_cu13.libs/libucs-1.so": b"no", "nixl_cu13.libs/libucp-2.so.0": UCP})
    )
    return prefix


def checked(folder: Path, venv: Path, **settings: Any) -> Checked:
    profile = folder / "x.yaml"
    engine = {"kind": "cpu", "venv": str(venv), "version": "0.5.23"}
    text = {"name": "x", "model": "/models/x", "engine": engine, "aggregated": {"port": 12000, "nccl_port": 12001}}
    profile.write_text(yaml.safe_dump(text | settings))
    loaded = load(profile)
    gathered = gather(loaded)
    return Checked(loaded, gathered.facts, resolve(loaded, gathered.facts), (), gathered.roots)


def plan_of(found: Checked) -> Plan:
    assert found.plan is not None
    return found.plan


def test_what_lies_around_an_engine(tmp_path: Path, venv: Path) -> None:
    found = checked(tmp_path, venv)
    site = venv / "lib/python3.11/site-packages"
    assert read_engine(found) == Read(
        package=str(site / "sglang"),
        packages={
            "nixl": "1.5.1",
            "nixl-cu13": "1.5.1",
            "sglang": "0.5.23",
            "sglang-router": "0.3.2",
            "torch": "2.9.1",
        },
        nixl="1.5.1",
        ucx=hashlib.sha256(UCP).hexdigest(),
    )
    assert installed(plan_of(found)) == read_engine(found).packages


def test_edits_of_an_installed_package(tmp_path: Path, venv: Path) -> None:
    found = checked(tmp_path, venv)
    assert with_edits(read_engine(found), manifest(found.roots), found.roots).edited == {}
    (venv / "lib/python3.11/site-packages/sglang/version.py").write_text("edited = True\n")
    read = with_edits(read_engine(found), manifest(found.roots), found.roots)
    assert read.edited == {"sglang/version.py": hashlib.sha256(b"edited = True\n").hexdigest()}
    assert with_edits(read_engine(found), None, ()).edited is None


def test_packages_are_the_same_until_one_changes(tmp_path: Path, venv: Path) -> None:
    found = checked(tmp_path, venv)
    read = read_engine(found)
    intent = intent_of(plan_of(found), found.loaded.profile, read)
    assert same_packages(intent, read)
    changes: tuple[dict[str, Any], ...] = ({"nixl": "1.5.2"}, {"ucx": None}, {"router": "0.3.3"}, {"packages": {}})
    for change in changes:
        assert not same_packages(intent, read.model_copy(update=change))


def test_of_an_environment_that_is_gone_nothing_is_known(tmp_path: Path, venv: Path) -> None:
    plan = plan_of(checked(tmp_path, venv))
    (venv / "bin/python").unlink()
    assert installed(plan) is None
    venv.rename(tmp_path / "elsewhere")
    assert installed(plan) is None


def test_the_simulator_stands_on_no_packages(tmp_path: Path, venv: Path) -> None:
    found = checked(tmp_path, venv, engine={"kind": "simulator"})
    assert read_engine(found) == Read()
    assert installed(plan_of(found)) is None
