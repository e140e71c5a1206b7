"""One end of a real NIXL transfer; a script, run twice by the engine's own Python, see `launcher.observe.transfer`.

    python nixl_peer.py '{"role": "prefill", "size": 67108864, "times": 5, "device": null, ...}'

It talks in lines of JSON: the decode says where its memory lies, is told to the prefill, which writes; both say what
happened. What libraries print goes to stderr. Nothing of pdlaunch and nothing of SGLang is imported; torch only where
the memory is a card's, because its allocator is the one whose memory SGLang registers.
"""

from __future__ import annotations

import base64
import ctypes
import hashlib
import importlib
import json
import mmap
import os
import sys
import time
from typing import Any

PATIENCE = 20.0
"""Seconds for one transfer."""


class Memory:
    """Memory to be sent or written: the host's, or a card's."""

    def __init__(self, size: int, device: int | None) -> None:
        self.size = size
        self.device = device
        self.kind = "DRAM" if device is None else "VRAM"
        if device is None:
            self.host = mmap.mmap(-1, size)
            self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.host))
        else:
            self.torch = importlib.import_module("torch")
            self.torch.cuda.set_device(device)
            self.card = self.torch.zeros(size, dtype=self.torch.uint8, device=f"cuda:{device}")
            self.torch.cuda.synchronize(device)
            self.address = self.card.data_ptr()

    def fill(self) -> None:
        """Put bytes there that nobody could guess."""
        block = os.urandom(1 << 20)
        data = (block * (self.size // len(block) + 1))[: self.size]
        if self.device is None:
            self.host[:] = data
        else:
            self.card.copy_(self.torch.frombuffer(bytearray(data), dtype=self.torch.uint8))
            self.torch.cuda.synchronize(self.device)

    def digest(self) -> str:
        """Over every byte that lies there now."""
        data = self.host if self.device is None else self.card.cpu().numpy().tobytes()
        return hashlib.sha256(data).hexdigest()

    def place(self) -> tuple[int, int, int]:
        """Address, length and device, as NIXL wants them."""
        return self.address, self.size, self.device or 0


def agent_of(told: dict[str, Any]) -> Any:
    """An agent as SGLang makes one (0.5.23, disaggregation/nixl/conn.py:597)."""
    nixl = None
    for name in told["modules"]:
        try:
            nixl = importlib.import_module(f"{name}._api")
            break
        except ModuleNotFoundError as error:
            if error.name not in (name, f"{name}._api"):
                raise  # something that it needs
            if name == told["modules"][-1]:
                raise ModuleNotFoundError("NIXL is not installed in the engine's environment") from error
    assert nixl is not None  # noqa: S101  the last name raises
    threads = 8 if told["role"] == "prefill" else 0
    settings = nixl.nixl_agent_config(
        backends=[], num_threads=threads, sync_mode=nixl.nixl_thread_sync_t.NIXL_THREAD_SYNC_STRICT
    )
    agent = nixl.nixl_agent(told["role"], settings)
    parameters = dict(told["parameters"])
    if threads and told["backend"] == "UCX":
        parameters.setdefault("num_threads", str(threads))
    agent.create_backend(told["backend"], parameters)
    return agent


def receive(told: dict[str, Any], say: Any) -> None:
    """The decode: own empty memory, wait until it was written to as often as agreed."""
    memory = Memory(told["size"], told["device"])
    agent = agent_of(told)
    agent.register_memory([(*memory.place(), "")], memory.kind)
    metadata = base64.b64encode(agent.get_agent_metadata()).decode()
    say(ready=True, memory=memory.kind, metadata=metadata, place=memory.place())
    seen: set[bytes] = set()
    limit = time.monotonic() + PATIENCE * 2
    while len(seen) < told["times"] and time.monotonic() < limit:
        for notes in agent.get_new_notifs().values():
            seen.update(notes)
        time.sleep(0.0005)
    say(done=len(seen), digest=memory.digest())
    sys.stdin.readline()  # stays until the other end is done


def send(told: dict[str, Any], say: Any) -> None:
    """The prefill: write into the decode's memory, and take the time of each write."""
    memory = Memory(told["size"], told["device"])
    memory.fill()
    agent = agent_of(told)
    agent.register_memory([(*memory.place(), "")], memory.kind)
    say(ready=True, memory=memory.kind)
    there = json.loads(sys.stdin.readline())
    peer = agent.add_remote_agent(base64.b64decode(there["metadata"]))
    source = agent.get_xfer_descs([memory.place()], memory.kind)
    target = agent.get_xfer_descs([tuple(there["place"])], there["memory"])
    times = []
    for turn in range(told["times"]):
        handle = agent.initialize_xfer("WRITE", source, target, peer, f"turn {turn}".encode())
        began = time.perf_counter()
        state = agent.transfer(handle)
        while state not in ("DONE", "ERR") and time.perf_counter() - began < PATIENCE:
            state = agent.check_xfer_state(handle)
        times.append(time.perf_counter() - began)
        if state != "DONE":
            raise TimeoutError(f"the transfer ended as {state} after {times[-1]:.1f} s")
        agent.release_xfer_handle(handle)
    say(done=len(times), times=times, digest=memory.digest())
    sys.stdin.readline()


def main() -> None:
    """Say what happened, or what went wrong, as the last line of JSON."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    told = json.loads(sys.argv[1])

    def say(**words: Any) -> None:
        print(json.dumps(words), file=out, flush=True)

    try:
        (send if told["role"] == "prefill" else receive)(told, say)
    except Exception as error:  # noqa: BLE001  whatever it is belongs into the answer
        say(error=f"{type(error).__name__}: {error}".strip())
    os._exit(0)  # without waiting for what threads of a transport still do


if __name__ == "__main__":
    main()
