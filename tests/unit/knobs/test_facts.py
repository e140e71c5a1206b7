"""The parts of an engine that a place can belong to."""

from __future__ import annotations

import pytest

from launcher.knobs import Place


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("srt/managers/scheduler.py", "server"),
        ("launch_server.py", "server"),
        ("kernels/jit/csrc/a.cuh", "server"),
        ("srt/latest/contest.py", "server"),
        ("test/a.py", "test"),
        ("srt/layers/tests/a.py", "test"),
        ("srt/test_a.py", "test"),
        ("srt/mem_cache/storage/x/unit_test.py", "test"),
        ("srt/a_test.py", "test"),
        ("multimodal_gen/envs.py", "diffusion"),
        ("multimodal_gen/test/a.py", "test"),
        ("bench_serving.py", "bench"),
        ("benchmark/serving.py", "bench"),
        ("kernels/jit/benchmark/a.py", "bench"),
        ("lang/a.py", "bench"),
    ],
)
def test_part(file: str, part: str) -> None:
    assert Place(file, 1).part == part


def test_a_place_reads_as_an_editor_takes_it() -> None:
    assert str(Place("srt/environ.py", 763)) == "srt/environ.py:763"
