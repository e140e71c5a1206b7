from __future__ import annotations

import os
from pathlib import Path

import pytest

from launcher.errors import InputError, Problem
from launcher.profile import Loaded, examine, load
from launcher.shipped import shipped

SIX = """\
name: dsv4-flash
model: /models/DeepSeek-V4-Flash
engine: {venv: /opt/sglang/venv}
prefill: {gpus: 0-3}
decode: {gpus: 4-7}
router: {port: 8000}
"""


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "x.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def loaded(tmp_path: Path, text: str) -> Loaded:
    return load(written(tmp_path, text))


def problems(tmp_path: Path, text: str | bytes) -> tuple[Problem, ...]:
    with pytest.raises(InputError) as caught:
        load(written(tmp_path, text))
    assert caught.value.exit_code == 2
    assert caught.value.problems
    return caught.value.problems


class TestSixLines:
    def test_fill_the_rest(self, tmp_path: Path) -> None:
        profile = loaded(tmp_path, SIX).profile
        assert profile.model.name == "dsv4-flash"
        assert profile.prefill
        assert profile.prefill.gpus == (0, 1, 2, 3)
        assert profile.transfer == "nixl"
        assert profile.engine.host == "127.0.0.1"
        assert (profile.ready.within, profile.stop.drain, profile.stop.kill) == (1800.0, 60.0, 90.0)
        assert (profile.restart.tries, profile.restart.within) == (3, 1800.0)

    @pytest.mark.parametrize("line", range(6))
    def test_need_each_line(self, tmp_path: Path, line: int) -> None:
        rest = SIX.splitlines()
        missing = rest.pop(line).partition(":")[0]
        found = problems(tmp_path, "\n".join(rest))
        assert any(p.subject.startswith(missing) and p.write for p in found)


class TestLines:
    def test_each_key_has_its_line_and_unwritten_ones_their_parent(self, tmp_path: Path) -> None:
        text = SIX.replace("decode: {gpus: 4-7}\n", "decode:\n  gpus: 4-7\n  env:\n    A: 1\n    B: 2\n")
        lines = loaded(tmp_path, text).lines
        assert lines.at("decode", "env", "B") == 9
        assert lines.at("decode", "env", "C") == 7
        assert lines.at("decode", "args", "x") == 5
        assert lines.at("watch", "on_hang") == 1
        assert lines.has("decode", "env", "A")
        assert not lines.has("decode", "env", "C")
        assert lines.written("decode", "env", "A") == "1"

    def test_the_text_is_kept(self, tmp_path: Path) -> None:
        assert loaded(tmp_path, SIX).text == SIX


class TestFilesThatAreNoProfile:
    @pytest.mark.parametrize(
        ("data", "says"),
        [
            (b"", "is empty"),
            (b"# only a comment\n", "is empty"),
            (b"- a\n- b\n", "holds no keys"),
            (b"just words\n", "holds no keys"),
            (b"\xef\xbb\xbfname: x\n", "byte order mark"),
            ("name: x\n".encode("utf-16"), "byte order mark"),
            (b"name: \xff\xfe\n", "not UTF-8"),
            (b"name: x\0y\n", "U+0000"),
            ("name: x\u2028y\n".encode(), "U+2028"),
            (b"name: x\rmodel: y\n", "U+000D"),
            (b"name: x\nengine:\n\tvenv: /v\n", "tab"),
            (b"name: [\n", "not YAML"),
            (b"name: 'x\n", "not closed"),
            (b"name: a: b\n", "second colon"),
            (b"a: 1\n  b: 2\n", "second colon"),
            (b"%YAML 9.9\n---\nname: x\n", "not YAML"),
            (b"[" * 100_000, "nested deeper"),
            (b"{a: " * 5_000, "nested deeper"),
            (b"a: " + b"x" * (50 * 1024 * 1024), "larger than"),
        ],
    )
    def test_end_in_one_clear_error(self, tmp_path: Path, data: bytes, says: str) -> None:
        (problem,) = problems(tmp_path, data)
        assert says in problem.error

    def test_missing_with_a_near_name(self, tmp_path: Path) -> None:
        written(tmp_path, SIX).rename(tmp_path / "cpu-tiny.yaml")
        with pytest.raises(InputError) as caught:
            load(tmp_path / "cpu-tyni.yaml")
        assert caught.value.problems[0].error == "there is no such file"
        assert str(tmp_path / "cpu-tiny.yaml") in (caught.value.hint or "")

    def test_missing_in_a_missing_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InputError) as caught:
            load(tmp_path / "no" / "x.yaml")
        assert caught.value.hint is None

    def test_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InputError) as caught:
            load(tmp_path)
        assert "folder" in caught.value.problems[0].error

    def test_device_and_pipe_are_not_read(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        for path in (Path("/dev/zero"), tmp_path / "pipe"):
            with pytest.raises(InputError) as caught:
                load(path)
            assert "regular file" in caught.value.problems[0].error

    def test_unreadable(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = written(tmp_path, SIX)

        def denied(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", denied)
        with pytest.raises(InputError) as caught:
            load(path)
        assert "Permission denied" in caught.value.problems[0].error

    @pytest.mark.parametrize("name", ["a\0b.yaml", "x" * 300, "loop"])
    def test_impossible_paths(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        with pytest.raises(InputError) as caught:
            load(tmp_path / name)
        assert "cannot be read" in caught.value.problems[0].error


class TestForm:
    def test_duplicate_keys_are_found_at_every_level_on_the_second_line(self, tmp_path: Path) -> None:
        block = "decode:\n  gpus: 4-7\n  env:\n    A: 1\n    A: 2\n"
        found = problems(tmp_path, SIX.replace("decode: {gpus: 4-7}\n", block) + "name: other\n")
        assert [(p.where[-2:].lstrip(":"), p.subject) for p in found] == [
            ("9", "decode.env.A = 2"),
            ("11", "name = other"),
        ]
        assert "the first is in line 8" in found[0].error

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("engine: &e {venv: /v}\n", "anchors"),
            ("decode: *e\n", "aliases"),
            ("prefill: &p {gpus: 0}\ndecode: *p\n", "aliases"),
            ("engine: {<<: {venv: /v}}\n", "merge keys"),
            ("name: !!str x\n", "tags"),
            ("name: !x y\n", "tags"),
            ("engine: !!python/object:os.system {}\n", "tags"),
            ("%TAG ! tag:x,2000:\n---\nname: x\n", "directive"),
            ("name: x\n---\nname: y\n", "second document"),
            ("engine: {env: {on: 1}}\n", "reads this key as true"),
            ("engine: {env: {~: 1}}\n", "reads this key as ~"),
            ("engine: {env: {? [a] : 1}}\n", "single word"),
        ],
    )
    def test_what_other_readers_take_differently_is_refused(self, tmp_path: Path, text: str, says: str) -> None:
        assert any(says in p.error for p in problems(tmp_path, text))

    def test_windows_line_ends_keep_the_line_numbers(self, tmp_path: Path) -> None:
        (problem,) = problems(tmp_path, SIX.replace("8000", "0").replace("\n", "\r\n"))
        assert problem.where.endswith(":6")


class TestUnknownKeys:
    @pytest.mark.parametrize(
        ("old", "new", "write"),
        [
            ("prefill:", "prefil:", "prefill: {gpus: 0-3}"),
            ("{port: 8000}", "{prot: 8000}", "port: 8000"),
            ("{gpus: 4-7}", "{gpus: 4-7, bootstrap-port: 1}", "bootstrap_port: 1"),
            ("{gpus: 4-7}", "{gpus: 4-7, NCCL_DEBUG: INFO}", "env:\n  NCCL_DEBUG: INFO"),
            ("{gpus: 4-7}", "{gpus: 4-7, max-running-requests: 32}", "args:\n  max-running-requests: 32"),
        ],
    )
    def test_are_answered_with_the_line_to_write(self, tmp_path: Path, old: str, new: str, write: str) -> None:
        assert write in [p.write for p in problems(tmp_path, SIX.replace(old, new))]

    def test_at_the_wrong_level_are_sent_to_theirs(self, tmp_path: Path) -> None:
        errors = [p.error for p in problems(tmp_path, SIX + "venv: /v\ngpus: 1\n")]
        assert errors == [
            "no key of a profile; it stands under engine",
            "no key of a profile; it stands under prefill and decode",
        ]

    def test_list_what_is_allowed_where_nothing_is_near(self, tmp_path: Path) -> None:
        (problem,) = problems(tmp_path, SIX + "stop: {qqq: 1}\n")
        assert problem.error == "no key of stop; allowed: drain, kill"


class TestProblems:
    def test_come_all_at_once_in_the_order_of_the_file(self, tmp_path: Path) -> None:
        text = SIX.replace("0-3", "3-0").replace("8000", "eight") + "stop: {drain: 60}\ntransfer: nixxl\n"
        found = problems(tmp_path, text)
        assert [p.where.rpartition(":")[2] for p in found] == ["4", "6", "7", "8"]
        assert [p.write for p in found] == [None, None, "drain: 60s", "transfer: nixl"]

    def test_name_the_file_as_it_was_typed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        written(tmp_path, "name: X\n")
        with pytest.raises(InputError) as caught:
            load(Path("x.yaml"))
        assert str(caught.value) == "x.yaml: 4 errors"
        assert caught.value.problems[0].where == "x.yaml:1"

    def test_never_move_the_terminal_or_run_on(self, tmp_path: Path) -> None:
        text = SIX.replace("transfer", "x") + 'transfer: "\\e[31mred' + "x" * 500 + '"\n'
        (problem,) = problems(tmp_path, text)
        assert "\x1b" not in str(problem)
        assert "\\x1b[31m" in problem.subject
        assert len(problem.subject) < 100

    def test_never_show_what_may_be_a_secret(self, tmp_path: Path) -> None:
        text = SIX.replace("{gpus: 4-7}", "{gpus: 4-7, secrets: {HF_TOKEN: hf_abc}, args: {api-key: sk-abc}}")
        found = problems(tmp_path, text)
        assert len(found) == 2
        assert "abc" not in "".join(map(str, found))

    def test_of_one_place_are_said_once(self, tmp_path: Path) -> None:
        (problem,) = problems(tmp_path, SIX.replace("gpus: 0-3", "gpus: x"))
        assert problem.subject == "prefill.gpus = x"

    def test_leave_the_rest_examinable(self, tmp_path: Path) -> None:
        examined = examine(written(tmp_path, SIX.replace("dsv4-flash", "DSV4").replace("8000", "0")))
        assert len(examined.errors) == 2
        assert examined.loaded.profile.name == "unnamed"
        assert examined.loaded.profile.decode
        assert examined.loaded.profile.router is None


@pytest.mark.parametrize("path", sorted(shipped("profiles").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_profiles_load_without_a_warning(path: Path) -> None:
    assert examine(path).problems == ()
    assert load(path).profile.name == path.stem


class TestWhatCannotBeRead:
    @pytest.mark.parametrize(
        ("text", "subjects"),
        [
            ("engine: {kind: cpuu}\n", ["engine.kind = cpuu"]),
            ("engine: [x]\n", ["engine = [x]"]),
            ("engine: {kind: cpu}\n", []),
            ("engine: {kind: cpu, env: 5}\n", ["engine.env = 5"]),
        ],
    )
    def test_is_not_judged_as_well(self, tmp_path: Path, text: str, subjects: list[str]) -> None:
        path = written(tmp_path, f"name: x\n{text}prefill: {{}}\ndecode: {{}}\nrouter: {{port: 8000}}\n")
        assert [problem.subject for problem in examine(path).problems] == subjects

    @pytest.mark.parametrize(
        ("text", "write"),
        [
            ("decode:\n", "decode: {}     or delete the line"),
            ("decode: ~\n", "decode: {}     or delete the line"),
            ("decode:\n  env:\n    # A: 1\n", "env: {}     or delete the line"),
        ],
    )
    def test_because_nothing_stands_there(self, tmp_path: Path, text: str, write: str) -> None:
        head = "name: x\nengine: {kind: cpu}\nprefill: {}\nrouter: {port: 8000}\n"
        (problem,) = problems(tmp_path, head + text)
        assert "nothing stands here" in problem.error
        assert problem.write == write


PAIR = "name: x\nengine: {kind: cpu}\nprefill: {}\ndecode: {}\nrouter: {port: 8000}\n"


@pytest.mark.parametrize(
    ("written", "transfer", "floor"),
    [
        ("nixl", "nixl", None),
        ("mooncake", "mooncake", None),
        ("{floor: 12GB/s}", "nixl", 12e9),
        ("{kind: mooncake, floor: 0.5GB/s}", "mooncake", 5e8),
        ("{kind: nixl, floor: 800MB/s}", "nixl", 8e8),
    ],
)
def test_a_transfer_is_a_word_or_has_a_floor(tmp_path: Path, written: str, transfer: str, floor: float | None) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(
        f"name: x\nengine: {{kind: cpu}}\nprefill: {{}}\ndecode: {{}}\nrouter: {{port: 8000}}\ntransfer: {written}\n"
    )
    examined = examine(path)
    assert examined.problems == ()
    assert (examined.loaded.profile.transfer, examined.loaded.profile.floor) == (transfer, floor)


@pytest.mark.parametrize("written", ["5", "5GB", "12 GB/s", "-1GB/s", "12Gbit/s", "1e3GB/s", "9999999999999GB/s", "~"])
def test_a_floor_has_its_unit(tmp_path: Path, written: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(f"{PAIR}transfer: {{floor: {written}}}\n")
    (problem,) = examine(path).problems
    assert problem.subject.startswith("transfer.floor")


def test_a_floor_enters_the_digest_only_where_there_is_one(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    dumps = []
    for more in ("", "transfer: nixl\n", "transfer: {floor: 1GB/s}\n"):
        path.write_text(f"{PAIR}{more}")
        dumps.append(examine(path).loaded.profile.model_dump(mode="json"))
    assert dumps[0] == dumps[1]
    assert dumps[2] == dumps[0] | {"floor": 1e9}
