"""What a server's log says; the files in logs/ are SGLang 0.5.23's own words on the CPU engine, shortened."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from launcher.observe.causes import probable_cause
from launcher.observe.log_files import FileLines
from launcher.observe.logs import Tail

LOGS = Path(__file__).with_name("logs")


def told(path: Path) -> Tail:
    tail = Tail(FileLines(path, from_start=True))
    tail.read()
    return tail


def failed(tail: Tail) -> bool:
    return tail.failure is not None


def line_of(path: Path, words: str) -> int:
    """Number of the first line that holds `words`."""
    lines = path.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if words in line)


def test_a_healthy_start_with_all_its_warnings_is_no_failure() -> None:
    text = (LOGS / "loaded.log").read_text()
    assert "Ignore import error" in text
    assert "No module named" in text
    tail = told(LOGS / "loaded.log")
    assert (tail.failure, tail.warning, tail.ready, tail.phase) == (None, None, True, "loaded")


def test_the_phases_of_a_start(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.touch()
    tail = Tail(FileLines(path))
    seen: list[str | None] = []
    for line in (LOGS / "loaded.log").read_text().splitlines():
        with path.open("a") as log:
            log.write(line + "\n")
        tail.read()
        if tail.phase not in seen:
            seen.append(tail.phase)
    assert seen == [None, "weights", "memory", "warm-up", "loaded"]


@pytest.mark.parametrize(
    "line",
    [
        "Capture target decode CUDA graph begin. backend=full, num_tokens=[1, 2], avail mem=9.53 GB",
        "Capture draft extend CUDA graph begin. backend=full, avail mem=9.53 GB",
        "Capture Frozen-KV MTP draft cuda graph begin.",
    ],
)
def test_capturing_graphs_is_a_phase_in_all_its_spellings(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.log"
    path.write_text(f"[2026-12-01 03:57:29 TP0] {line}\n")
    assert told(path).phase == "graphs"


@pytest.mark.parametrize(
    ("name", "error", "cause"),
    [
        (
            "refused-flag.log",
            "sglang serve: error: unrecognized arguments: --no-such-flag",
            "the engine's parser refuses a flag",
        ),
        (
            "no-model.log",
            "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or "
            "'namespace/repo_name': '/models/nowhere'. Use `repo_type` argument if needed.",
            "the model's files are incomplete or not there",
        ),
        (
            "no-transport.log",
            "nixl_cu13._bindings.nixlBackendError: NIXL_ERR_BACKEND",
            "NIXL has no transport to start with: UCX_TLS needs tcp for the wire-up, UCX_NET_DEVICES a device that "
            "exists",
        ),
        (
            "http-port-taken.log",
            "[2026-12-01 04:58:57] ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', "
            "11900): address already in use",
            "another process holds the port",
        ),
        (
            "bootstrap-port-taken.log",
            "OSError: [Errno 98] error while attempting to bind on address ('127.0.0.1', 11903): address already in "
            "use",
            "another process holds the port",
        ),
    ],
)
def test_a_failed_start_is_told_by_its_first_error_with_its_line_and_cause(name: str, error: str, cause: str) -> None:
    failure = told(LOGS / name).failure
    assert failure is not None
    assert (failure.line, failure.number, failure.cause) == (error, line_of(LOGS / name, error), cause)


def test_what_the_engine_says_and_ignores_is_kept_as_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    words = "Prefill instance failed to register to bootstrap server after 5 retries"
    path.write_text(f"[2026-12-01 05:00:33] {words}\n[2026-12-01 05:00:36] The server is fired up and ready to roll!\n")
    tail = told(path)
    assert (tail.warning, tail.failure, tail.ready) == (f"[2026-12-01 05:00:33] {words}", None, True)


class TestTracebacks:
    TRACEBACK = """\
[2026-12-01 04:58:11 TP0] Scheduler hit an exception: Traceback (most recent call last):
  File "scheduler.py", line 6362, in run_scheduler_process
    raise ValueError("first error: not this line")
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 81.30 GiB. GPU 5 has 95.6 GiB

[2026-12-01 04:58:11] Received sigquit from a child process. It usually means the child failed.
"""
    ERROR = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 81.30 GiB. GPU 5 has 95.6 GiB"

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.lists(st.integers(0, len(TRACEBACK)), max_size=6))
    def test_one_that_comes_in_pieces_ends_the_same(self, tmp_path: Path, cuts: list[int]) -> None:
        path = tmp_path / "x.log"
        path.write_text("healthy\n")
        tail = Tail(FileLines(path))
        edges = [0, *sorted(cuts), len(self.TRACEBACK)]
        for begin, end in pairwise(edges):
            with path.open("a") as log:
                log.write(self.TRACEBACK[begin:end])
            tail.read()
        assert tail.failure is not None
        assert (tail.failure.line, tail.failure.number) == (self.ERROR, 5)
        assert tail.failure.cause is not None
        assert "too little free memory" in tail.failure.cause

    def test_its_first_line_stands_for_it_until_the_last_has_come(self, tmp_path: Path) -> None:
        path = tmp_path / "x.log"
        path.write_text("\n".join(self.TRACEBACK.splitlines()[:2]) + "\n")
        failure = told(path).failure
        assert failure is not None
        assert failure.line == self.TRACEBACK.splitlines()[0]

    @pytest.mark.parametrize("error", ["AssertionError", "KeyboardInterrupt", "a.b.SomeException: ", "SystemExit: 3"])
    def test_errors_without_words(self, tmp_path: Path, error: str) -> None:
        path = tmp_path / "x.log"
        head = 'Traceback (most recent call last):\n  File "x.py", line 1, in f\n    assert x\n'
        path.write_text(f"{head}{error}\nmore\n")
        failure = told(path).failure
        assert failure is not None
        assert failure.line == error.strip()

    def test_of_several_the_first_is_told(self, tmp_path: Path) -> None:
        path = tmp_path / "x.log"
        path.write_text(self.TRACEBACK + self.TRACEBACK.replace("OutOfMemoryError: CUDA", "RuntimeError: later"))
        failure = told(path).failure
        assert failure is not None
        assert failure.line == self.ERROR


class TestFollowing:
    def test_what_was_there_before_is_not_read_but_counted(self, tmp_path: Path) -> None:
        path = tmp_path / "x.log"
        path.write_text("Traceback (most recent call last):\nOSError: of yesterday\n")
        tail = Tail(FileLines(path))
        tail.read()
        assert not failed(tail)
        with path.open("a") as log:
            log.write("Traceback (most recent call last):\nOSError: of today\n")
        tail.read()
        assert tail.failure is not None
        assert (tail.failure.line, tail.failure.number) == ("OSError: of today", 4)

    def test_a_log_that_is_not_there_yet(self, tmp_path: Path) -> None:
        path = tmp_path / "x.log"
        tail = Tail(FileLines(path))
        tail.read()
        path.write_text("Load weight begin\n")
        tail.read()
        assert tail.phase == "weights"

    def test_a_rotated_log_is_read_to_its_end_and_the_new_one_from_its_beginning(self, tmp_path: Path) -> None:
        path = tmp_path / "x.log"
        path.write_text("one\n")
        tail = Tail(FileLines(path))
        with path.open("a") as log:
            log.write("Load weight begin\n")
        path.rename(tmp_path / "x.log.1")
        path.write_text("two\nTraceback (most recent call last):\nOSError: new\n")
        tail.read()
        assert tail.phase == "weights"
        assert tail.failure is not None
        assert (tail.failure.line, tail.failure.number) == ("OSError: new", 3)

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        path = tmp_path / "x.log"
        path.write_bytes(b"\xff\xfe\x00 Load weight begin\nhalf a l")
        tail = told(path)
        assert tail.phase == "weights"
        with path.open("ab") as log:
            log.write(b"ine The server is fired up and ready to roll!\n")
        tail.read()
        assert tail.ready


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("torch.OutOfMemoryError: CUDA out of memory.", "too little free memory"),
        ("RuntimeError: cannot allocate 81.3 GiB", "too little free memory"),
        ("OSError: [Errno 98] Address already in use", "another process holds the port"),
        ("ModuleNotFoundError: No module named 'flashinfer'", "lacks a package"),
        ("sglang serve: error: argument --x: invalid choice: 'y'", "the engine's parser refuses a flag"),
        ("OSError: [Errno 28] No space left on device", "a disk is full"),
        ("AssertionError: chunked_prefill_size must be divisible by page_size 256", "does not fit the page size"),
        ("OSError: /models/x does not appear to have a file named config.json.", "incomplete or not there"),
        ("RuntimeError: Ninja is required to load C++ extensions", "a build tool is missing"),
        ("Rank 0 scheduler died during initialization (exit code: -9). If exit code is -9", "killed from outside"),
        ("Subprocess scheduler_0 (pid=1) crashed with exit code -15. Triggering SIGQUIT", "told to end from outside"),
    ],
)
def test_causes(text: str, cause: str) -> None:
    found = probable_cause(text)
    assert found is not None
    assert cause in found


def test_no_cause_is_made_up() -> None:
    assert probable_cause("ValueError: 42") is None
    rank = "Rank 0 scheduler died during initialization (exit code: 1). If exit code is -9 (SIGKILL), a common cause is"
    assert probable_cause(rank) is None
