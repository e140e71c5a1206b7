"""Run by the engine's own Python: does everything that a server needs work here? Answers in JSON.

    python check.py MODEL ANSWER FLAG ...

MODEL is the tiny model's folder, ANSWER the file to write, the flags are those of every CPU server. ANSWER maps the
name of each check to what was found. The first check that fails ends it with a traceback and its name in the last line.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from ctypes import addressof, create_string_buffer
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from time import monotonic, sleep

_BYTES = 1 << 20
_DISTRIBUTIONS = ("sglang", "torch", "nixl", "sglang-router", "transformers")


def versions(_model: Path, _flags: Sequence[str]) -> str:
    """The parts that matter are installed."""
    return ", ".join(f"{name} {version(name)}" for name in _DISTRIBUTIONS)


def layer(_model: Path, _flags: Sequence[str]) -> str:
    """Imports of packages without a CPU build reach their stand-ins."""
    triton = import_module("triton")
    if type(triton).__name__ != "StandIn":
        raise RuntimeError(f"triton is {triton!r}, not a stand-in")
    return "on in this process"


def transfer(_model: Path, _flags: Sequence[str]) -> str:
    """One NIXL agent writes into another's memory over UCX, under the label that SGLang uses."""
    nixl = import_module("nixl._api")
    source, target = create_string_buffer(bytes(range(256)) * (_BYTES // 256), _BYTES), create_string_buffer(_BYTES)
    settings = nixl.nixl_agent_config(backends=["UCX"])
    sender, receiver = nixl.nixl_agent("check-sender", settings), nixl.nixl_agent("check-receiver", settings)
    here, there = (addressof(source), _BYTES, 0), (addressof(target), _BYTES, 0)
    registered = sender.register_memory([(*here, "")], "VRAM"), receiver.register_memory([(*there, "")], "VRAM")
    peer = sender.add_remote_agent(receiver.get_agent_metadata())
    handle = sender.initialize_xfer(
        "WRITE", sender.get_xfer_descs([here], "VRAM"), sender.get_xfer_descs([there], "VRAM"), peer, b"done"
    )
    state, limit = sender.transfer(handle), monotonic() + 30
    while state == "PROC" and monotonic() < limit:
        sleep(0.005)
        state = sender.check_xfer_state(handle)
    if state != "DONE" or source.raw != target.raw:
        raise RuntimeError(f"NIXL transfer ended as {state}, data {'equal' if source.raw == target.raw else 'differ'}")
    sender.release_xfer_handle(handle)
    sender.deregister_memory(registered[0])
    receiver.deregister_memory(registered[1])
    return "1 MiB from one NIXL agent to another over UCX, host memory to host memory, equal"


def model(folder: Path, _flags: Sequence[str]) -> str:
    """Configuration, tokenizer and chat template load, and a token is a byte."""
    transformers = import_module("transformers")
    config = transformers.AutoConfig.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    text = tokenizer.apply_chat_template([{"role": "user", "content": "é"}], tokenize=False, add_generation_prompt=True)
    tokens = tokenizer(text).input_ids
    if list(text.encode()) != tokens or tokenizer.decode(tokens) != text:
        raise RuntimeError(f"the tokenizer turns {text!r} into {tokens}")
    return f"{config.architectures[0]}, {config.num_hidden_layers} layers, {len(tokenizer)} tokens"


def arguments(folder: Path, flags: Sequence[str]) -> str:
    """SGLang accepts and resolves a CPU server's command line."""
    server_args = import_module("sglang.srt.server_args")
    parsed = server_args.prepare_server_args(["--model-path", str(folder), *flags])
    parsed.resolve_once()
    resolved = parsed.resolved_dict()
    return f"accepted; attention {resolved['attention_backend']}, page size {resolved['page_size']}"


def router(_model: Path, _flags: Sequence[str]) -> str:
    """The router's compiled part loads and its command answers."""
    import_module("sglang_router.sglang_router_rs")
    command = [sys.executable, "-m", "sglang_router.launch_router", "--help"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    if "--pd-disaggregation" not in answer.stdout:
        raise RuntimeError(f"the router does not know --pd-disaggregation: {answer.stdout[:200]}")
    return f"sglang-router {version('sglang-router')} answers"


CHECKS: tuple[Callable[[Path, Sequence[str]], str], ...] = (versions, layer, transfer, model, arguments, router)


def main(folder: Path, answer: Path, flags: Sequence[str]) -> None:
    """Run every check in order and write what was found."""
    found = {}
    for check in CHECKS:
        try:
            found[check.__name__] = check(folder, flags)
        except BaseException as error:
            error.add_note(f"check failed: {check.__name__}")
            raise
    answer.write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
