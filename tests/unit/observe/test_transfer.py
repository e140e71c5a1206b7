"""How a transfer is led, with ends that only play their part; real ones are in tests/real/test_doctor.py."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from launcher.observe.transfer import End, TransferFailed, Transferred, transfer

TABLE = """\
x | prefill intra-node cfg#1 |
x | remote memory write by ucp_put* from host memory to host |
x | 0..inf | zero-copy | tcp/lo |
"""
DECODE = """\
say(ready=True, memory="DRAM", metadata="bWV0YQ==", place=[1, 2, 0])
say(done=4, digest="aa")
"""
PREFILL = """\
say(ready=True, memory="DRAM")
there = json.loads(sys.stdin.readline())
assert (there["metadata"], there["place"]) == ("bWV0YQ==", [1, 2, 0])
print(TABLE, file=sys.stderr)
say(done=4, times=[0.4, 0.1, 0.2, 0.1], digest="aa")
"""
MakeEnd = Callable[[str, str], End]


@pytest.fixture
def end(tmp_path: Path) -> MakeEnd:
    """An end whose Python runs this instead of what it is told."""

    def make(service: str, code: str) -> End:
        python = tmp_path / service
        head = f"#!{sys.executable}\nimport json, sys, time\nTABLE = {TABLE!r}\n"
        said = "def say(**words): print(json.dumps(words), flush=True)\nassert sys.argv[1:3] == ['-P', '-c']\n"
        python.write_text(f"{head}{said}{code}\nsys.stdin.readline()\n")
        python.chmod(0o755)
        return End(service, str(python), {"UCX_TLS": "tcp"})

    return make


def test_what_was_measured(end: MakeEnd) -> None:
    done = transfer(end("prefill-0", PREFILL), end("decode-0", DECODE), size=1 << 20)
    assert isinstance(done, Transferred), done
    assert (done.source, done.target, done.memory, done.size) == ("prefill-0", "decode-0", "DRAM", 1 << 20)
    assert (done.times, done.lane, done.how) == ((0.4, 0.1, 0.2, 0.1), "tcp/lo", "zero-copy")
    assert done.rate == (1 << 20) / 0.1


def failure(prefill: End, decode: End, patience: float = 30.0) -> TransferFailed:
    failed = transfer(prefill, decode, patience=patience)
    assert isinstance(failed, TransferFailed), failed
    return failed


def test_bytes_that_differ_are_a_failure_however_fast_they_came(end: MakeEnd) -> None:
    failed = failure(end("prefill-0", PREFILL), end("decode-0", DECODE.replace("aa", "bb")))
    assert failed.error == "the bytes that arrived are not those that were sent"


def test_an_end_that_says_no_and_what_its_libraries_said(end: MakeEnd) -> None:
    says = "print('[1.2] [vm:1:0] a.c:1 UCX  ERROR no transport', file=sys.stderr)\nsay(error='NIXL_ERR_BACKEND')"
    failed = failure(end("prefill-0", PREFILL), end("decode-0", says))
    assert (failed.where, failed.error, failed.said) == ("decode-0", "NIXL_ERR_BACKEND", ("no transport",))


def test_an_end_that_hangs_is_left(end: MakeEnd) -> None:
    failed = failure(end("prefill-0", "time.sleep(600)"), end("decode-0", DECODE), patience=1.0)
    assert (failed.where, failed.error) == ("prefill-0", "no answer in time: it hangs")


def test_an_end_that_ends(end: MakeEnd) -> None:
    failed = failure(end("prefill-0", "sys.exit(3)"), end("decode-0", DECODE))
    assert (failed.where, failed.error) == ("prefill-0", "its process ended with exit status 3")


def test_an_end_that_does_not_start(end: MakeEnd, tmp_path: Path) -> None:
    failed = failure(end("prefill-0", PREFILL), End("decode-0", str(tmp_path / "none"), {}))
    assert failed.where == "decode-0"
    assert "No such file or directory" in failed.error
    failed = failure(End("prefill-0", sys.executable, {}, user="no-such-user"), end("decode-0", DECODE))
    assert "no-such-user" in failed.error
