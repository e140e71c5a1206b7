"""Each way to stop serving, and its harmless double that looks alike."""

from __future__ import annotations

from dataclasses import replace

from launcher.watch import Process, Spread
from launcher.watch.signatures import SIGNATURES

from .making import Watching, body, front, pair, server, told


def test_every_signature_says_where_it_was_met() -> None:
    assert len({s.name for s in SIGNATURES}) == len(SIGNATURES)
    assert all(s.source.startswith("https://") and s.about for s in SIGNATURES)


def test_an_idle_deployment_is_fine_for_as_long_as_it_is_idle() -> None:
    assert Watching().wait(600).state == "idle"


def test_a_scheduler_that_does_not_look_while_requests_run_hangs() -> None:
    watching = Watching()
    watching.say("decode-0", running=6)
    watching.wait(4)
    watching.say("decode-0", steps=5.0)
    watching.look()
    watching.turns["decode-0"] = False
    assert watching.wait(8).findings == ()
    verdict = watching.wait(4)
    assert told(verdict) == {"standing-still": "decode-0"}
    assert "6 requests" in verdict.findings[0].words
    assert verdict.services["decode-0"].standing == "hung"


def test_its_stopped_process_is_named() -> None:
    watching = Watching()
    watching.say("decode-0", running=1)
    held = body(200, workers=(Process(201, 200, "sglang::scheduler", stopped=True),))
    watching.change("decode-0", body=held)
    watching.turns["decode-0"] = False
    assert "pid 201 (sglang::scheduler) is stopped" in watching.wait(14).findings[0].words


def test_one_that_stands_still_while_nobody_waits_is_no_hang() -> None:
    watching = Watching()
    watching.turns["decode-0"] = False
    assert watching.wait(120).findings == ()


def test_one_that_stood_still_before_the_requests_came_is_found_by_the_router() -> None:
    watching = Watching()
    watching.turns["decode-0"] = False
    watching.wait(20)
    watching.router = front(**{url_name("decode-0"): {"active": 2}})
    assert told(watching.wait(14)) == {"standing-still": "decode-0"}


def url_name(name: str) -> str:
    return name.replace("-", "_")


def test_a_stopped_prefill_is_found_by_the_decode_that_waits_for_it() -> None:
    watching = Watching()
    watching.turns["prefill-0"] = False
    watching.say("decode-0", transfer=3)
    assert told(watching.wait(20)) == {"standing-still": "prefill-0"}


def test_a_server_that_answers_nothing_hangs_where_it_has_work() -> None:
    watching = Watching()
    watching.say("decode-0", running=2)
    watching.look()
    watching.change("decode-0", answer="silent")
    watching.turns["decode-0"] = False
    verdict = watching.wait(14)
    assert told(verdict) == {"standing-still": "decode-0"}
    assert "it answers nothing" in verdict.findings[0].words


def test_running_requests_without_a_token_hang_though_the_scheduler_turns() -> None:
    watching = Watching()
    watching.say("decode-0", running=6, used_tokens=400_000, capacity_tokens=1_000_000)
    verdict = watching.wait(14)
    assert told(verdict) == {"no-token": "decode-0"}
    assert "6 requests running, no token for 12 s, 400,000 of 1,000,000 tokens" in verdict.findings[0].words


def test_tokens_make_it_busy_however_few() -> None:
    watching = Watching()
    watching.say("decode-0", running=6)
    for step in range(60):
        watching.say("decode-0", steps=float(step // 3))
        assert watching.look().findings == ()


def test_a_kernel_that_is_built_is_no_hang() -> None:
    watching = Watching()
    watching.say("decode-0", running=1)
    watching.change("decode-0", body=body(200, compiling="nvcc"))
    verdict = watching.wait(300)
    assert verdict.findings == ()
    assert verdict.services["decode-0"].words == "compiling (nvcc)"


def test_a_long_prompt_gets_on_chunk_by_chunk_while_decode_waits_for_it() -> None:
    watching = Watching()
    watching.count("prefill-0", open=1.0)
    watching.say("decode-0", transfer=1)
    for chunk in range(64):
        watching.say("prefill-0", prefilled=4096 * chunk)
        watching.look(INTERVAL_OF_A_CHUNK)
        assert watching.look().findings == ()


INTERVAL_OF_A_CHUNK = 3.0


def test_a_prefill_that_computes_nothing_of_its_queue_hangs() -> None:
    watching = Watching()
    watching.say("prefill-0", waiting=4)
    verdict = watching.wait(14)
    assert told(verdict) == {"no-token": "prefill-0"}
    assert "4 requests queued, nothing computed" in verdict.findings[0].words


def test_health_checks_prove_no_progress() -> None:
    watching = Watching()
    watching.say("prefill-0", waiting=4)
    for check in range(8):
        watching.count("prefill-0", computed=float(check), passes=float(check))
        verdict = watching.look()
    assert told(verdict) == {"no-token": "prefill-0"}


def test_a_transfer_that_does_not_move_hangs_and_names_its_partner() -> None:
    watching = Watching()
    watching.say("prefill-0", inflight=2)
    watching.say("decode-0", transfer=2)
    assert watching.wait(24).findings == ()
    verdict = watching.wait(6)
    assert told(verdict) == {"frozen-transfer": "decode-0"}
    assert verdict.findings[0].partners == ("prefill-0",)


def test_bytes_that_move_are_progress() -> None:
    watching = Watching()
    watching.say("prefill-0", inflight=2)
    watching.say("decode-0", transfer=2)
    for step in range(40):
        watching.count("prefill-0", moved_mb=float(step // 4))
        assert watching.look().findings == ()


def test_what_a_restarted_decode_cannot_know_is_no_hang_but_what_comes_after_is() -> None:
    watching = Watching()
    watching.say("prefill-0", inflight=2)
    watching.say("decode-0", running=2)
    watching.look()
    watching.look(changing="restart, by watch")
    watching.servers["decode-0"] = server(pid=210)
    assert watching.wait(60).findings == (), "two requests of the decode that was killed"
    watching.say("prefill-0", inflight=1)
    assert watching.wait(40).findings == (), "one of them timed out"
    watching.say("prefill-0", inflight=2)
    assert told(watching.wait(40)) == {"lost-half": "prefill-0"}


def test_a_decode_that_knows_nothing_of_what_is_in_flight() -> None:
    watching = Watching()
    watching.say("prefill-0", inflight=1)
    verdict = watching.wait(30)
    assert told(verdict) == {"lost-half": "prefill-0"}
    assert verdict.findings[0].partners == ("decode-0",)


def test_an_open_circuit_is_told_and_not_acted_on() -> None:
    watching = Watching()
    watching.router = front(decode_0={"circuit": 1})
    verdict = watching.look()
    assert told(verdict) == {"open-circuit:decode-0": "router"}
    assert (verdict.state, verdict.hung) == ("degraded", ())


def test_requests_that_take_as_long_as_a_time_out_name_the_knob() -> None:
    watching = Watching(pair(decode={"SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "900"}))
    watching.look()
    watching.count("decode-0", whole=Spread(2.0, 1803.0))
    assert watching.look().findings == ()
    watching.count("decode-0", whole=Spread(5.0, 1803.0 + 2710.0))
    verdict = watching.look()
    assert told(verdict) == {"latency-floor:SGLANG_DISAGGREGATION_WAITING_TIMEOUT": "decode-0"}
    assert "5 requests took 900 s" in verdict.findings[0].words


def test_a_default_nobody_wrote_is_named_as_well() -> None:
    watching = Watching()
    watching.look()
    watching.count("decode-0", whole=Spread(3.0, 3 * 301.7))
    (finding,) = watching.look().findings
    assert "SGLANG_DISAGGREGATION_WAITING_TIMEOUT or SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT" in finding.words


def test_requests_of_any_length_are_no_floor() -> None:
    watching = Watching()
    watching.look()
    for number, took in enumerate((280.0, 320.0, 290.0, 450.0), 1):
        before = watching.servers["decode-0"].counters.whole
        watching.count("decode-0", whole=Spread(float(number), before.sum + took))
        assert watching.look().findings == ()


def test_a_lost_scheduler_is_a_death_and_explains_who_waits() -> None:
    watching = Watching()
    watching.say("prefill-0", waiting=3)
    watching.change("decode-0", body=body(200, workers=(), lost=(Process(201, 200, "sglang::scheduler"),)))
    verdict = watching.wait(20)
    assert told(verdict) == {"died": "decode-0"}
    assert "its process 201 (sglang::scheduler) is gone; 200 lingers" in verdict.findings[0].words
    assert verdict.state == "dead"


def test_a_server_that_loads_is_loading_and_hangs_in_nothing() -> None:
    watching = Watching()
    watching.change("decode-0", ready=False, answer="refused")
    verdict = watching.wait(600)
    assert (verdict.state, verdict.findings) == ("loading", ())


def test_what_somebody_changes_is_not_judged_and_has_no_past() -> None:
    watching = Watching()
    watching.say("decode-0", running=1)
    watching.turns["decode-0"] = False
    watching.wait(8)
    assert watching.look(changing="anna is running `up`").state == "changing"
    assert watching.wait(8).findings == ()
    assert told(watching.wait(6)) == {"standing-still": "decode-0"}


def test_what_was_taken_down_is_not_missed() -> None:
    watching = Watching()
    watching.servers = {name: replace(s, body=None) for name, s in watching.servers.items()}
    assert watching.look(stopped=True).findings == ()
    assert told(watching.look())["died"] in watching.servers


def test_time_in_which_nobody_looked_does_not_count() -> None:
    watching = Watching()
    watching.say("decode-0", running=1)
    watching.look()
    assert watching.look(3600).findings == ()


def test_who_once_took_long_and_went_on_may_take_as_long_again() -> None:
    watching = Watching()
    watching.say("decode-0", running=1, steps=1.0)
    watching.look()
    watching.say("decode-0", steps=2.0)
    watching.wait(10)
    watching.say("decode-0", steps=3.0)
    watching.look()
    assert watching.wait(18).findings == ()
    assert told(watching.wait(6)) == {"no-token": "decode-0"}


def test_a_process_that_was_held_teaches_no_patience() -> None:
    watching = Watching()
    watching.say("decode-0", running=1, steps=1.0)
    watching.look()
    watching.change("decode-0", body=body(200, workers=(Process(201, 200, "s", stopped=True),)))
    watching.wait(60)
    watching.change("decode-0", body=body(200))
    watching.say("decode-0", steps=2.0)
    watching.look()
    assert told(watching.wait(12)) == {"no-token": "decode-0"}
