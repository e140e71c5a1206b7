from launcher.simulator.tally import BUCKETS, Tally


def test_a_request_is_in_one_queue_at_a_time() -> None:
    tally = Tally()
    for queue in ("waiting", "running"):
        tally.move("a", queue, 10)
    snapshot = tally.snapshot()
    assert (snapshot["queues"]["waiting"], snapshot["queues"]["running"], snapshot["used_tokens"]) == (0, 1, 10)
    tally.move("a", None)
    assert tally.snapshot()["used_tokens"] == 0


def test_each_change_is_told() -> None:
    told: list[str] = []
    tally = Tally(lambda: told.append("changed"))
    tally.move("a", "running", 10)
    tally.grew("a", 11)
    assert tally.snapshot()["counts"]["decode"] == 1
    assert len(told) == 2


def test_transfers_fill_cumulative_buckets() -> None:
    tally = Tally()
    tally.transferred(1000, bootstrap_s=0.003, transfer_s=0.02)
    *counts, total, value = tally.snapshot()["observed"]["kv_transfer_latency_ms"]
    expected = [float(bound >= 20) for bound in BUCKETS["kv_transfer_latency_ms"]]
    assert counts == expected
    assert total == 1
    assert value == 20
