"""The script of a transfer's ends, run as it is, with stand-ins for NIXL and torch: the way of GPU memory.

What stands in moves bytes through a file and keeps "GPU memory" in the host's: it proves how the script calls them, and
nothing about cards. Real NIXL between host memories is in tests/real/test_doctor.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from launcher.observe.transfer import End, TransferFailed, Transferred, transfer

NIXL = """\
import ctypes, enum, json, os, time
class nixl_thread_sync_t(enum.Enum):
    NIXL_THREAD_SYNC_STRICT = 1
class nixl_agent_config:
    def __init__(self, **words):
        assert words == {"backends": [], "num_threads": words["num_threads"], "sync_mode": nixl_thread_sync_t(1)}
class nixl_agent:
    def __init__(self, name, config):
        self.path = os.path.join(os.environ["MEETING"], name)
    def create_backend(self, name, parameters):
        assert name == "UCX", name
        print("what a library prints must not get between the lines of JSON")
    def register_memory(self, places, kind):
        (self.address, self.size, device, _), = places
        with open(f"{self.path}.registered", "w") as out:
            json.dump([kind, device], out)
    def get_agent_metadata(self):
        return self.path.encode()
    def add_remote_agent(self, metadata):
        return metadata.decode()
    def get_xfer_descs(self, places, kind):
        return places[0], kind
    def initialize_xfer(self, what, source, target, peer, note):
        (address, size, _), kind = source
        assert (what, kind, target[1]) == ("WRITE", KIND, KIND)
        return ctypes.string_at(address, size), peer, note.decode()
    def transfer(self, handle):
        data, peer, note = handle
        data = CORRUPT(data)
        with open(f"{peer}.data", "wb") as out:
            out.write(data)
        with open(f"{peer}.notes", "a") as out:
            out.write(note + ";")
        return "DONE"
    def release_xfer_handle(self, handle):
        pass
    def get_new_notifs(self):
        try:
            notes = open(f"{self.path}.notes").read().split(";")[:-1]
        except FileNotFoundError:
            return {}
        if len(notes) == 4:
            data = open(f"{self.path}.data", "rb").read()
            ctypes.memmove(self.address, data, len(data))
        return {"prefill": [note.encode() for note in notes]}
"""
TORCH = """\
import ctypes
uint8 = "uint8"
class cuda:
    chosen = None
    @staticmethod
    def set_device(index):
        cuda.chosen = index
    @staticmethod
    def synchronize(index):
        assert index == cuda.chosen
class Tensor:
    def __init__(self, data):
        self.memory = ctypes.create_string_buffer(bytes(data), len(data))
    def data_ptr(self):
        return ctypes.addressof(self.memory)
    def copy_(self, other):
        ctypes.memmove(self.memory, other.memory, len(self.memory))
    def cpu(self):
        return self
    numpy = cpu
    def tobytes(self):
        return self.memory.raw
def zeros(size, dtype, device):
    assert (dtype, device) == (uint8, f"cuda:{cuda.chosen}")
    return Tensor(bytes(size))
def frombuffer(data, dtype):
    return Tensor(data)
"""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder with both, and where the two agents meet."""
    folder = tmp_path / "packages"
    (folder / "nixl_cu13").mkdir(parents=True)
    (folder / "nixl_cu13/__init__.py").write_text("")
    (tmp_path / "meeting").mkdir()
    return folder


def run(packages: Path, *, kind: str, corrupt: str = "data", devices: tuple[int | None, int | None]) -> object:
    nixl = f"{NIXL}\nKIND = {kind!r}\nCORRUPT = lambda data: {corrupt}\n"
    (packages / "nixl_cu13/_api.py").write_text(nixl)
    (packages / "torch.py").write_text(TORCH)
    env = {"PYTHONPATH": str(packages), "MEETING": str(packages.parent / "meeting")}
    ends = [End(n, sys.executable, env, d) for n, d in zip(("prefill-0", "decode-0"), devices, strict=True)]
    return transfer(ends[0], ends[1], modules=("nixl_cu13", "nixl"), size=3 << 20)


def test_memory_of_the_cards_that_the_plan_names(packages: Path) -> None:
    done = run(packages, kind="VRAM", devices=(2, 5))
    assert isinstance(done, Transferred), done
    assert (done.memory, len(done.times)) == ("VRAM", 4)
    meeting = packages.parent / "meeting"
    assert (meeting / "prefill.registered").read_text() == '["VRAM", 2]'
    assert (meeting / "decode.registered").read_text() == '["VRAM", 5]'


def test_the_hosts_memory_needs_no_torch(packages: Path) -> None:
    done = run(packages, kind="DRAM", devices=(None, None))
    assert isinstance(done, Transferred), done
    assert done.memory == "DRAM"


def test_one_byte_that_differs_is_found(packages: Path) -> None:
    failed = run(packages, kind="VRAM", corrupt="data[:-1] + bytes([data[-1] ^ 1])", devices=(0, 1))
    assert isinstance(failed, TransferFailed)
    assert failed.error == "the bytes that arrived are not those that were sent"


def test_an_environment_without_nixl(tmp_path: Path) -> None:
    end = End("prefill-0", sys.executable, {"PYTHONPATH": str(tmp_path)})
    failed = transfer(end, End("decode-0", sys.executable, {}), modules=("nixl_cu13", "nixl"))
    assert isinstance(failed, TransferFailed)
    assert failed.error == "ModuleNotFoundError: NIXL is not installed in the engine's environment"
