"""What one aggregated server answers."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.simulator import VERSION, testing
from launcher.simulator.testing import Simulated, events

from .conftest import Start, in_background, load, metric

TEXT = {"text": "The capital of France is", "sampling_params": {"max_new_tokens": 5}}
CHAT = {"model": "tiny", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Simulated]:
    args = ("--served-model-name", "tiny", "--context-length", "100", "--enable-cache-report", "--extra-flag", "3")
    environment = {"SGLANG_EXPOSE_OWN_ENV_VARS": "1", "SGLANG_HOST_IP": "127.0.0.1", "SGLANG_UNHEARD_OF": "1"}
    with testing.start(tmp_path_factory.mktemp("server"), "null", args, environment) as started:
        yield started.wait_for()


@pytest.mark.parametrize("path", ["/health", "/health_generate", "/ready", "/ping"])
def test_it_says_that_it_is_well(server: Simulated, path: str) -> None:
    assert server.ask(path).status == 200


def test_generate(server: Simulated) -> None:
    reply = server.ask("/generate", TEXT).json()
    meta = reply["meta_info"]
    assert len(reply["output_ids"]) == meta["completion_tokens"] == 5
    assert meta["prompt_tokens"] == 7
    assert meta["finish_reason"] == {"type": "length", "length": 5}
    assert meta["id"]
    assert reply["text"].startswith("[simulator]")


def test_the_same_prompt_has_the_same_answer_however_it_is_asked(server: Simulated) -> None:
    whole = server.ask("/generate", TEXT).json()
    *parts, done = events(server.ask("/generate", {**TEXT, "stream": True}))
    assert done == "[DONE]"
    assert [len(part["output_ids"]) for part in parts] == [1, 2, 3, 4, 5]
    assert (parts[-1]["output_ids"], parts[-1]["text"]) == (whole["output_ids"], whole["text"])
    assert [part["meta_info"]["finish_reason"] is None for part in parts] == [True, True, True, True, False]
    other = server.ask("/generate", {**TEXT, "text": "The capital of Spain is"}).json()
    assert other["output_ids"] != whole["output_ids"]


def test_ids_and_batches(server: Simulated) -> None:
    one = server.ask("/generate", {"input_ids": [1, 2, 3], "sampling_params": {"max_new_tokens": 2}}).json()
    body = {"input_ids": [[1, 2, 3], [4]], "sampling_params": {"max_new_tokens": 2}}
    batch = server.ask("/generate", body).json()
    assert batch[0]["output_ids"] == one["output_ids"]
    assert [part["meta_info"]["prompt_tokens"] for part in batch] == [3, 1]


def test_no_tokens_are_an_answer_too(server: Simulated) -> None:
    reply = server.ask("/generate", {"text": "hi", "sampling_params": {"max_new_tokens": 0}}).json()
    assert (reply["output_ids"], reply["text"]) == ([], "")


def test_a_prompt_seen_before_is_cached_but_for_its_last_token(server: Simulated) -> None:
    body = {"input_ids": list(range(500, 520)), "sampling_params": {"max_new_tokens": 1}}
    cached = [server.ask("/generate", body).json()["meta_info"]["cached_tokens"] for _ in range(2)]
    assert server.ask("/flush_cache", {}).status == 200
    cached.append(server.ask("/generate", body).json()["meta_info"]["cached_tokens"])
    assert cached == [0, 19, 0]


def test_chat(server: Simulated) -> None:
    reply = server.ask("/v1/chat/completions", CHAT).json()
    choice, usage = reply["choices"][0], reply["usage"]
    assert (reply["object"], reply["model"], choice["finish_reason"]) == ("chat.completion", "tiny", "length")
    assert choice["message"]["content"].startswith("[simulator]")
    assert usage["completion_tokens"] == 3
    assert usage["total_tokens"] == usage["prompt_tokens"] + 3
    assert "cached_tokens" in usage["prompt_tokens_details"]


def test_chat_streamed(server: Simulated) -> None:
    whole = server.ask("/v1/chat/completions", CHAT).json()["choices"][0]["message"]["content"]
    body = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
    reply = server.ask("/v1/chat/completions", body)
    assert reply.headers["content-type"].startswith("text/event-stream")
    *chunks, usage, done = events(reply)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(delta["content"] for delta in deltas) == whole
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, None, None, "length"]
    assert (usage["choices"], usage["usage"]["completion_tokens"], done) == ([], 3, "[DONE]")


def test_without_a_limit_an_answer_ends_by_itself(server: Simulated) -> None:
    body = {key: value for key, value in CHAT.items() if key != "max_tokens"}
    reply = server.ask("/v1/chat/completions", body).json()
    assert reply["choices"][0]["finish_reason"] == "stop"
    assert reply["usage"]["completion_tokens"] == 16


def test_completions(server: Simulated) -> None:
    body = {"model": "tiny", "prompt": "Once upon a time", "max_tokens": 2}
    whole = server.ask("/v1/completions", body).json()
    assert whole["object"] == "text_completion"
    *chunks, done = events(server.ask("/v1/completions", {**body, "stream": True}))
    assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == whole["choices"][0]["text"]
    assert done == "[DONE]"


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/generate", {"input_ids": [1] * 100}, "The input (100 tokens) is longer than the model's context length"),
        ("/generate", {"input_ids": [1] * 90, "sampling_params": {"max_new_tokens": 11}}, "a total of 101 tokens"),
        ("/generate", {}, "Either text, input_ids or input_embeds should be provided."),
        ("/v1/chat/completions", {"messages": []}, "Messages cannot be empty."),
        ("/v1/completions", {"prompt": {"no": "text"}}, "Prompt must be a text or a list of token ids."),
        ("/v1/chat/completions", ["a list"], "AttributeError"),
        ("/generate", {"input_ids": [1, "two"]}, "token ids must be non-negative integers"),
        ("/generate", {"text": ""}, "The prompt must be at least one token"),
        ("/generate", {"text": "hi", "sampling_params": {"max_new_tokens": -1}}, "must be at least 0, got -1"),
        ("/generate", {"text": "hi", "sampling_params": {"max_new_tokens": 1.5}}, "must be at least 0, got 1.5"),
    ],
)
def test_a_bad_request_is_named(server: Simulated, path: str, body: object, said: str) -> None:
    reply = server.ask(path, body)
    assert reply.status == 400
    assert said in reply.body.decode()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)
FIELDS = ("text", "input_ids", "messages", "prompt", "sampling_params", "max_tokens", "rid", "stream", "stream_options")


@pytest.mark.parametrize("path", ["/generate", "/v1/chat/completions", "/v1/completions"])
def test_no_body_breaks_the_server(server: Simulated, path: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(st.dictionaries(st.sampled_from(FIELDS), JSON) | JSON)
    def ask(body: object) -> None:
        assert server.ask(path, [] if body is None else body).status in (200, 400)

    ask()
    assert server.ask("/health").status == 200


def test_a_request_id_is_used_once_at_a_time(start: Start) -> None:
    server = start(environment={"PDLAUNCH_SIM_TOKEN_MS": "1000"})
    body = {**TEXT, "rid": "mine"}
    in_background(server, "/generate", body)
    await_load(server, {"num_running_reqs": 1})
    second = server.ask("/generate", body)
    assert (second.status, "Duplicate request ID detected: mine" in second.body.decode()) == (400, True)


def test_models(server: Simulated) -> None:
    card = server.ask("/v1/models").json()["data"][0]
    assert (card["id"], card["max_model_len"]) == ("tiny", 100)


@pytest.mark.parametrize("path", ["/server_info", "/get_server_info"])
def test_server_info_has_arguments_command_and_environment(server: Simulated, path: str) -> None:
    info = server.ask(path).json()
    assert (info["port"], info["context_length"], info["extra_flag"]) == (server.port, 100, "3")
    assert info["launch_command"].startswith("--model-path tiny --port")
    variables = info["internal_states"][0]["env_vars"]
    assert variables["SGLANG_HOST_IP"] == "127.0.0.1"
    assert "SGLANG_UNHEARD_OF" not in variables


@pytest.mark.parametrize("path", ["/model_info", "/get_model_info"])
def test_model_info_tells_the_mode(server: Simulated, path: str) -> None:
    assert server.ask(path).json()["disaggregation_mode"] == "null"


def test_loads_have_the_sections_asked_for(server: Simulated) -> None:
    core = server.ask("/v1/loads?include=core").json()["loads"][0]
    assert {"num_running_reqs", "num_waiting_reqs", "token_usage"} <= set(core)
    assert "disaggregation" not in core
    assert load(server)["disaggregation"]["mode"] == "null"
    assert server.ask("/v1/loads?include=nonsense").status == 400


def test_metrics_count_tokens_and_requests(server: Simulated) -> None:
    def counts() -> list[float]:
        return [
            metric(server, "prompt_tokens_total", is_streaming="false"),
            metric(server, "generation_tokens_total", is_streaming="false"),
            metric(server, "num_requests_total", is_streaming="false"),
            metric(server, "realtime_tokens_total", mode="decode"),
        ]

    before = counts()
    server.ask("/generate", {"input_ids": [9, 8, 7], "sampling_params": {"max_new_tokens": 4}})
    assert [after - then for after, then in zip(counts(), before, strict=True)] == [3, 4, 1, 4]
    assert metric(server, "num_running_reqs") == 0
    assert metric(server, "kv_available_tokens") == metric(server, "max_total_num_tokens")


def test_metrics_are_prometheus_text(server: Simulated) -> None:
    lines = server.ask("/metrics").body.decode().splitlines()
    typed = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    samples = {line.partition("{")[0] for line in lines if not line.startswith("#")}
    histograms = {line.split()[2] for line in lines if line.endswith(" histogram")}
    expected = (typed - histograms) | {f"{name}_{end}" for name in histograms for end in ("bucket", "sum", "count")}
    assert samples == expected
    assert all(float(line.rpartition(" ")[2]) >= 0 for line in lines if not line.startswith("#"))


def test_everything_that_it_shows_names_it_a_simulator(server: Simulated) -> None:
    for path in ("/server_info", "/model_info", "/v1/loads", "/v1/models", "/metrics", "/", "/nowhere"):
        reply = server.ask(path)
        assert "simulator" in reply.headers["server"]
        assert "simulator" in reply.body.decode()
    for path, body in (("/generate", TEXT), ("/v1/chat/completions", CHAT), ("/generate", {}), ("/v1/completions", {})):
        assert "simulator" in server.ask(path, body).body.decode()
    assert server.ask("/server_info").json()["version"] == VERSION
    assert all("simulator" in line for line in server.log.splitlines())
    assert "simulator" in Path(f"/proc/{server.scheduler}/cmdline").read_text()


def test_what_sglang_does_not_have_is_not_found(server: Simulated) -> None:
    assert server.ask("/get_load").status == 404


@contextmanager
def connected(server: Simulated) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as link:
        yield link


def test_an_http2_probe_is_refused_and_the_server_lives_on(server: Simulated) -> None:
    with connected(server) as link:
        link.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")
        assert link.recv(100).startswith(b"HTTP/1.1 400")
    assert server.ask("/health").status == 200


def test_queued_requests_wait_for_a_slot(start: Start) -> None:
    busy = start("null", "--max-running-requests", "1", environment={"PDLAUNCH_SIM_TOKEN_MS": "1000"})
    links = [socket.create_connection(("127.0.0.1", busy.port)) for _ in range(2)]
    for link in links:
        payload = json.dumps({"text": "hi", "sampling_params": {"max_new_tokens": 60}}).encode()
        link.sendall(b"POST /generate HTTP/1.1\r\ncontent-length: %d\r\n\r\n%b" % (len(payload), payload))
    await_load(busy, {"num_running_reqs": 1, "num_waiting_reqs": 1})
    assert (metric(busy, "num_running_reqs"), metric(busy, "num_queue_reqs")) == (1, 1)
    for link in links:
        link.close()
    await_load(busy, {"num_running_reqs": 0, "num_waiting_reqs": 0})


def await_load(server: Simulated, wanted: dict[str, Any]) -> None:
    found: dict[str, Any] = {}
    for _ in range(500):
        found = load(server)
        if all(found[key] == value for key, value in wanted.items()):
            return
    assert {key: found[key] for key in wanted} == wanted
