"""Run by an engine's interpreter: gives command lines to SGLang's and sglang-router's own parsers.

Reads a JSON list of ``[kind, words]`` from stdin and writes, for each, what its parser made of it or why it refused.
"""

import contextlib
import dataclasses
import importlib
import io
import json
import sys


def parsed(kind: str, words: list[str]) -> dict[str, object]:
    """The fields of the parser's result, as text where JSON has no form for them."""
    if kind == "engine":
        args = importlib.import_module("sglang.srt.server_args").prepare_server_args(words)
        return {name: getattr(args, name) for name in ENGINE_FIELDS}
    args = importlib.import_module("sglang_router.launch_router").parse_router_args(words)
    return dataclasses.asdict(args)


ENGINE_FIELDS = (
    "model_path",
    "served_model_name",
    "tp_size",
    "base_gpu_id",
    "disaggregation_mode",
    "disaggregation_transfer_backend",
    "context_length",
    "kv_cache_dtype",
    "mem_fraction_static",
    "chunked_prefill_size",
    "max_running_requests",
    "cuda_graph_max_bs_decode",
    "disable_custom_all_reduce",
)


def main() -> None:
    results: list[dict[str, object]] = []
    for kind, words in json.load(sys.stdin):
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                results.append({"parsed": parsed(kind, words)})
        except (SystemExit, ValueError, AssertionError) as error:
            results.append({"refused": f"{said.getvalue()}{error}"[-2000:]})
    json.dump(results, sys.stdout, default=str)


if __name__ == "__main__":
    main()
