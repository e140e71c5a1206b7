"""The bootstrap server of a prefill: where decode servers learn how it is laid out and where its KV is to be had.

Routes and answers as in `CommonKVBootstrapServer`, sglang/srt/disaggregation/common/conn.py of 0.5.23.
"""

from typing import Any

from .web import Request, Response, as_json

QUERY_ALL = "/route?prefill_dp_rank=-1&prefill_cp_rank=-1&target_tp_rank=-1&target_pp_rank=-1"
QUERY_FIRST = "/route?prefill_dp_rank=0&prefill_cp_rank=0&target_tp_rank=0&target_pp_rank=0"
_RANKS = ("prefill_dp_rank", "prefill_cp_rank", "target_tp_rank", "target_pp_rank")


class Registry:
    """The prefill ranks that have registered; the first to register says the layout, the last where the KV is.

    That a second prefill may register with a server that is not its own, without a word, is SGLang's behaviour.
    """

    def __init__(self) -> None:
        self._layout: dict[str, Any] = {}
        self._rank: dict[str, Any] = {}

    async def handle(self, request: Request) -> Response:
        """Answer one request to the bootstrap port."""
        match request.method, request.path:
            case "GET", "/health":
                return Response(200, b"OK")
            case "PUT", "/route":
                return self._register(request.json())
            case "GET", "/route":
                return self._look_up(request.query)
            case _, "/route":
                return Response(405, b"Method not allowed")
        return Response(404, b"404: Not Found")

    def _register(self, row: dict[str, Any]) -> Response:
        layout = {
            "attn_tp_size": row["attn_tp_size"],
            "attn_cp_size": row["attn_cp_size"],
            "dp_size": row["attn_dp_size"] if row["system_dp_size"] == 1 else row["system_dp_size"],
            "pp_size": row["pp_size"],
            "page_size": row["page_size"],
            "kv_cache_dtype": row["kv_cache_dtype"],
            "follow_bootstrap_room": row["load_balance_method"] == "follow_bootstrap_room",
            "enable_dsa_cache_layer_split": False,
            "enable_kv_cache_sharding": False,
            "prefill_http_port": row["prefill_http_port"],
            "decode_allocation_policy": "early",
            "simulator": row.get("simulator", ""),
        }
        self._layout = self._layout or layout
        self._rank = {"rank_ip": row["rank_ip"], "rank_port": row["rank_port"]}
        return Response(200, b"OK")

    def _look_up(self, query: dict[str, str]) -> Response:
        if not all(query.get(rank) for rank in _RANKS):
            return Response(400, b"Missing inputs for bootstrap server.")
        if not self._layout:
            return Response(503, b"Prefill server not fully registered yet (0 workers registered).")
        return as_json(self._layout if all(query[rank] == "-1" for rank in _RANKS) else self._rank)
