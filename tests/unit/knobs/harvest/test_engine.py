"""Trees that are whole, half, hostile or not an engine at all."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from launcher.errors import InputError
from launcher.knobs import EngineKnobs, declarations, harvest, harvest_router

from ..trees import ENVIRON, engine, old_engine, write

ROUTER = """
import argparse
import dataclasses
import os


@dataclasses.dataclass
class RouterArgs:
    port: int = 30000
    tags: list = dataclasses.field(default_factory=list)

    @staticmethod
    def add_cli_args(parser, use_router_prefix=False):
        prefix = "router-" if use_router_prefix else ""
        parser.add_argument(f"--{prefix}port", type=int, default=RouterArgs.port)
        parser.add_argument(f"--{prefix}user", default=os.getenv("DB_USER"))
        if not use_router_prefix:
            parser.add_argument("--only-alone", action="store_true")
"""


def env_names(knobs: EngineKnobs) -> set[str]:
    return set(knobs.env)


@pytest.mark.parametrize("where", ["", "sglang", "sglang/srt/.."])
def test_the_package_or_the_folder_around_it(tmp_path: Path, where: str) -> None:
    engine(tmp_path)
    knobs = harvest(tmp_path / where)
    assert (knobs.engine, knobs.version, knobs.whole) == ("sglang", "0.5.23", True)
    assert knobs.env["SGLANG_FAST"].read


def test_a_checkout_with_a_knob_of_its_own(tmp_path: Path) -> None:
    engine(tmp_path / "python", {"srt/layers/mma.py": "import os\nCTAS = int(os.environ.get('FORK_CTAS', '0'))\n"})
    knob = harvest(tmp_path).env["FORK_CTAS"]
    assert (knob.kind, knob.default, str(knob.reads[0].place)) == ("int", "0", "srt/layers/mma.py:2")


def test_an_old_version_without_a_registry(tmp_path: Path) -> None:
    knobs = harvest(old_engine(tmp_path, {"srt/a.py": "import os\nos.getenv('A_B')\n"}))
    assert (knobs.version, env_names(knobs)) == (None, {"A_B"})
    assert "tp-size" in knobs.flags


def test_the_installers_record_names_the_version(tmp_path: Path) -> None:
    engine(tmp_path)
    (tmp_path / "sglang-0.5.24.dist-info").mkdir()
    assert declarations(tmp_path).version == "0.5.24"


def test_a_wheel(tmp_path: Path) -> None:
    engine(tmp_path / "src")
    wheel = tmp_path / "sglang-0.5.23-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in (tmp_path / "src").rglob("*.py"):
            archive.write(path, path.relative_to(tmp_path / "src"))
    knobs = harvest(wheel, cache_dir=tmp_path / "cache")
    assert env_names(knobs) == env_names(harvest(tmp_path / "src"))
    shutil.rmtree(tmp_path / "src")
    assert list(harvest(wheel, cache_dir=tmp_path / "cache").flags) == list(knobs.flags)


def test_a_router(tmp_path: Path) -> None:
    write(tmp_path / "sglang_router", {"router_args.py": ROUTER, "version.py": '__version__ = "0.3.2"\n'})
    for path in (tmp_path, tmp_path / "sglang_router"):
        knobs = harvest_router(path)
        assert (knobs.engine, knobs.version) == ("sglang_router", "0.3.2")
        assert list(knobs.flags) == ["help", "port", "user", "only-alone"]
        user = knobs.flags["user"]
        assert (user.default, user.depends_on) == (None, ("DB_USER",))
        assert knobs.env["DB_USER"].read


def test_its_successor(tmp_path: Path) -> None:
    write(tmp_path / "smg", {"router_args.py": ROUTER})
    assert harvest_router(tmp_path).engine == "smg"


@pytest.mark.parametrize("read", [harvest, declarations])
def test_what_is_no_engine(tmp_path: Path, read: type) -> None:
    for path, message in (
        (tmp_path / "nowhere", "does not exist"),
        (tmp_path, "holds no SGLang"),
        (Path(__file__), "is a file and no wheel"),
    ):
        with pytest.raises(InputError, match=message) as raised:
            read(path)
        assert raised.value.hint


def test_half_an_engine(tmp_path: Path) -> None:
    (engine(tmp_path) / "srt" / "server_args.py").unlink()
    with pytest.raises(InputError, match=r"half SGLang: srt/server_args\.py is missing"):
        harvest(tmp_path)


def test_a_broken_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "sglang-1-py3-none-any.whl"
    wheel.write_bytes(b"PK\x03\x04 not really")
    with pytest.raises(InputError, match="cannot be unpacked"):
        harvest(wheel)


@pytest.mark.parametrize("file", ["srt/server_args.py", "srt/environ.py"])
@pytest.mark.parametrize("content", [b"def broken(:\n", b"x = 1\n\x00\n", b"\xff\xfe\x00"])
def test_declarations_that_do_not_parse(tmp_path: Path, file: str, content: bytes) -> None:
    with pytest.raises(InputError, match=rf"{file}:\d+: not Python"):
        harvest(engine(tmp_path, {file: content}))


def test_another_class_in_the_place_of_the_arguments(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="declares no class ServerArgs"):
        harvest(engine(tmp_path, {"srt/server_args.py": "class Other:\n    pass\n"}))


def test_a_class_without_the_method(tmp_path: Path) -> None:
    knobs = harvest(engine(tmp_path, {"srt/server_args.py": "class ServerArgs:\n    x: int = 1\n"}))
    assert [note.text for note in knobs.notes] == ["ServerArgs has no add_cli_args"]
    assert list(knobs.flags) == ["help"]


def test_files_that_do_not_parse_are_noted_and_the_rest_is_read(tmp_path: Path) -> None:
    knobs = harvest(
        engine(
            tmp_path,
            {
                "srt/broken.py": "import os\nx = os.environ[\n",
                "srt/binary.py": b"\x7fELF\x00environ\x00",
                "srt/bom.py": b"\xef\xbb\xbfimport os\nx = os.getenv('WITH_BOM')\n",
                "srt/latin.py": "# -*- coding: latin-1 -*-\nimport os\nx = os.getenv('LATIN')  # \xe9\n".encode(
                    "latin-1"
                ),
                "srt/deep.py": "import os\nx = os.environ[" + "(" * 500 + "1" + ")" * 500 + "]\n",
                "srt/good.py": "import os\nx = os.getenv('GOOD')\n",
            },
        )
    )
    assert {"WITH_BOM", "LATIN", "GOOD"} <= env_names(knobs)
    assert [note.place.file for note in knobs.notes] == ["srt/binary.py", "srt/broken.py", "srt/deep.py"]
    assert all(note.text.startswith("not Python: ") for note in knobs.notes)


def test_links_that_go_in_circles(tmp_path: Path) -> None:
    package = engine(tmp_path, {"srt/a.py": "import os\nx = os.getenv('A_B')\n"})
    (package / "srt" / "again").symlink_to(package)
    (package / "srt" / "self.py").symlink_to("self.py")
    (package / "srt" / "nothing.py").symlink_to("missing.py")
    knobs = harvest(package)
    assert [str(read.place) for read in knobs.env["A_B"].reads] == ["srt/a.py:2"]
    assert {note.place.file: note.text for note in knobs.notes} == {
        "srt/again": "a link to a folder that is read already",
        "srt/nothing.py": "cannot be read: No such file or directory",
        "srt/self.py": "cannot be read: Too many levels of symbolic links",
    }


def test_a_folder_with_the_name_of_a_module(tmp_path: Path) -> None:
    package = engine(tmp_path)
    write(package / "srt" / "odd.py", {"a.py": "import os\nx = os.getenv('A_B')\n"})
    assert str(harvest(package).env["A_B"].reads[0].place) == "srt/odd.py/a.py:2"


def test_a_registry_that_imports_a_circle(tmp_path: Path) -> None:
    text = "from sglang.srt.server_args import THING\n" + ENVIRON.replace("5 * 60", "THING")
    knobs = declarations(engine(tmp_path, {"srt/environ.py": text}))
    assert str(knobs.env["SGLANG_WAIT"].default) == "<THING>"
