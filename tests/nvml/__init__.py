"""A stand-in for NVIDIA's library, so that what pdlaunch makes of cards can be tested where there are none.

It tests pdlaunch and is never evidence about cards: it calls itself a stand-in wherever it can.
"""

from __future__ import annotations

import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

_SOURCE = Path(__file__).with_name("standin.c")
_STRICT = ("-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
_NAMED = ("-DNVML_NO_UNVERSIONED_FUNC_DEFS", "-Wl,-soname,libnvidia-ml.so.1")


@dataclass(frozen=True)
class Nvml:
    """The library, built, and a folder for the files that tell it what to say."""

    library: Path
    """Folder of libnvidia-ml.so.1."""
    old: Path
    """Folder of one that lacks what older drivers lack."""
    folder: Path
    monkeypatch: pytest.MonkeyPatch

    def says(self, text: str, *, old: bool = False) -> None:
        """From now on, processes of this test find the stand-in, and it says this."""
        told = self.folder / "nvml.txt"
        told.write_text(text)
        self.monkeypatch.setenv("LD_LIBRARY_PATH", str(self.old if old else self.library))
        self.monkeypatch.setenv("NVML_STANDIN", str(told))

    def box(self, *cards: str, top: str = "", count: int = 8, old: bool = False) -> None:
        """`count` healthy cards; the lines of the first ones are added to: ``box("", "process 4242 30000")``."""
        lines = [f"gpu\n{cards[i] if i < len(cards) else ''}\n" for i in range(count)]
        self.says(f"{top}\n" * bool(top) + "".join(lines).replace("\n\n", "\n"), old=old)


def build(folder: Path) -> tuple[Path, Path]:
    """Compile both, the newer one first; fails where there is no compiler or no header, as a test must."""
    compiler = shutil.which("gcc")
    assert compiler, "the stand-in for NVML is compiled with gcc"
    header = next(Path(sysconfig.get_path("purelib")).glob("nvidia/*/include/nvml.h"), None)
    assert header, "NVIDIA's nvml.h is in the development dependency nvidia-nvml-dev"
    for name, more in (("new", ()), ("old", ("-DOLD",))):
        (folder / name).mkdir()
        library = folder / name / "libnvidia-ml.so.1"
        subprocess.run(
            [compiler, *_STRICT, *_NAMED, *more, f"-I{header.parent}", "-o", str(library), str(_SOURCE)], check=True
        )
    return folder / "new", folder / "old"
