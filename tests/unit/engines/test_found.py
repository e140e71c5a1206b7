from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import launcher
from launcher.engines import describe, simulator
from launcher.errors import InputError
from tests.unit.engines.trees import editable, package, serving, venv


def test_an_environment_that_serves(tmp_path: Path) -> None:
    packages = serving(tmp_path)
    facts = describe(tmp_path)
    assert (facts.kind, facts.path, facts.package) == ("sglang", tmp_path, packages / "sglang")
    assert (facts.python, facts.python_version) == (tmp_path / "bin" / "python", "3.11.7")
    assert (facts.version, facts.torch, facts.cuda) == ("0.5.23", "2.14.1", "13.0")
    assert (facts.nixl, facts.router, facts.commit) == ("1.5.1", "0.3.2", None)
    assert list(facts.distributions) == ["nixl", "nixl-cu13", "sglang", "sglang-router", "torch"]


def test_a_cpu_build_of_torch_has_no_cuda(tmp_path: Path) -> None:
    packages = serving(tmp_path)
    (packages / "torch" / "version.py").write_text("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\n")
    assert describe(tmp_path).cuda is None


def test_the_layer_makes_it_the_cpu_engine(tmp_path: Path) -> None:
    package(serving(tmp_path) / "pdlaunch_cpu_layer")
    assert describe(tmp_path).kind == "cpu"


def test_nixl_without_its_front(tmp_path: Path) -> None:
    packages = serving(tmp_path)
    (packages / "nixl-1.5.1.dist-info" / "METADATA").unlink()
    (packages / "nixl-1.5.1.dist-info" / "RECORD").unlink()
    (packages / "nixl-1.5.1.dist-info").rmdir()
    assert describe(tmp_path).nixl == "1.5.1"


def test_an_editable_installation_lies_in_its_checkout(tmp_path: Path) -> None:
    checkout = package(tmp_path / "sgl-workspace" / "sglang" / "python" / "sglang")
    packages = venv(tmp_path / "venv", {"torch": "2.14.1"})
    editable(packages, "sglang", "0.5.23.post1", checkout.parent)
    facts = describe(tmp_path / "venv")
    assert (facts.package, facts.version) == (checkout, "0.5.23.post1")


def test_a_checkout_alone(tmp_path: Path) -> None:
    fork = package(tmp_path / "python" / "sglang", {"_version.py": "__version__ = version = '0.5.24.dev3'\n"})
    facts = describe(tmp_path)
    assert (facts.package, facts.version, facts.kind) == (fork, "0.5.24.dev3", "sglang")
    assert facts.python is None
    assert facts.distributions == {}


def test_a_checkout_with_an_environment_in_it(tmp_path: Path) -> None:
    fork = package(tmp_path / "python" / "sglang", {"version.py": '__version__ = "0.4.9"\n'})
    venv(tmp_path / ".venv", {"torch": "2.7.0", "nixl_cu12": "1.5.1"})
    facts = describe(tmp_path)
    assert (facts.package, facts.version) == (fork, "0.4.9")
    assert (facts.python, facts.torch, facts.nixl) == (tmp_path / ".venv" / "bin" / "python", "2.7.0", "1.5.1")


def test_a_home_is_written_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serving(tmp_path / "venv")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert describe(Path("~/venv")).path == tmp_path / "venv"


def test_the_simulator_runs_where_pdlaunch_runs() -> None:
    facts = simulator()
    assert (facts.kind, facts.version, facts.python) == ("simulator", launcher.__version__, Path(sys.executable))


def _nothing(path: Path) -> None:
    assert not path.exists()


def _empty(path: Path) -> None:
    path.mkdir()


def _no_sglang(path: Path) -> None:
    venv(path, {"torch": "2.14.1"})


def _only_metadata(path: Path) -> None:
    venv(path, {"torch": "2.14.1", "sglang": "0.5.23"})


def _only_package(path: Path) -> None:
    package(venv(path, {"torch": "2.14.1"}) / "sglang")


def _no_torch(path: Path) -> None:
    package(venv(path, {"sglang": "0.5.23"}) / "sglang")


def _checkout_gone(path: Path) -> None:
    editable(venv(path, {"torch": "2.14.1"}), "sglang", "0.5.23", path.parent / "gone")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (_nothing, "there is no "),
        (_empty, "neither Python nor SGLang in "),
        (_no_sglang, "no SGLang in "),
        (_only_metadata, "SGLang 0.5.23 is recorded, but its package is not beside its metadata"),
        (_only_package, "nothing records which SGLang that is"),
        (_no_torch, "SGLang 0.5.23 is there, but torch is not"),
        (_checkout_gone, "from where it was installed editable"),
    ],
)
def test_what_is_no_engine_ends_in_one_clear_error(tmp_path: Path, make: Callable[[Path], None], message: str) -> None:
    make(tmp_path / "it")
    with pytest.raises(InputError) as caught:
        describe(tmp_path / "it")
    assert message in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("below", "meant"), [("bin", "."), ("bin/python", "."), ("lib/python3.11/site-packages/sglang", "..")]
)
def test_a_path_inside_an_engine_is_answered_with_the_one_that_is_meant(tmp_path: Path, below: str, meant: str) -> None:
    serving(tmp_path / "venv")
    inside = tmp_path / "venv" / below
    expected = inside.parent if meant == ".." else tmp_path / "venv"
    with pytest.raises(InputError) as caught:
        describe(inside)
    assert caught.value.hint is not None
    assert caught.value.hint.endswith(str(expected))


def test_the_home_of_nobody_is_an_error() -> None:
    with pytest.raises(InputError, match="there is no ~nobody-of-that-name"):
        describe(Path("~nobody-of-that-name/venv"))


def test_what_cannot_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(prefix: Path) -> None:
        raise PermissionError(13, "Permission denied", str(prefix / "pyvenv.cfg"))

    monkeypatch.setattr("launcher.engines.found.environment_at", refused)
    with pytest.raises(InputError, match=r"cannot read .*/pyvenv\.cfg: Permission denied"):
        describe(tmp_path)
