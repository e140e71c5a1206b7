"""A running service against its record: what is an alarm, what is known, what could not be seen."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from launcher.backends.processes import Proc
from launcher.compare.drift import WORDS, Expected, Finding, deviations, flags, port_findings, without_keys
from launcher.observe.live import LiveProcess, LiveService
from launcher.observe.sockets import Listener
from launcher.plan import Argument

from .making import service

SERVICE = service("decode-0", args={"page-size": "64", "port": "31000"}, env={"X": "1"})
ENV = {"X": "1"}


def proc(pid: int, *words: str) -> Proc:
    return Proc(pid, pid, 1, pid, "decode-0", words or SERVICE.words())


def process(
    pid: int = 10, *words: str, environ: Mapping[str, str] | None = ENV, executable: str | None = "/usr/bin/python3"
) -> LiveProcess:
    return LiveProcess(proc(pid, *words), environ, executable)


def found(
    main: LiveProcess,
    *children: LiveProcess,
    supervised: bool = True,
    twins: tuple[Proc, ...] = (),
    secrets: Mapping[str, str | None] | None = None,
) -> list[str]:
    expected = Expected(SERVICE, ENV, secrets or {}, "/usr/bin/python3")
    now = LiveService("decode-0", main, children, supervised=supervised, twins=twins)
    return [f"{f.kind}: {f}" for f in deviations(expected, now)]


def test_what_runs_as_recorded_is_not_spoken_of() -> None:
    assert found(process(), process(11, "sglang::scheduler")) == []


def test_a_changed_command_is_told_flag_by_flag() -> None:
    words = (*SERVICE.words()[:3], "--port", "31000", "--page-size=128", "--extra")
    assert found(process(10, *words)) == [
        "changed: decode-0 (pid 10)  args page-size  64 -> 128",
        "changed: decode-0 (pid 10)  args extra  unset -> on",
    ]


def test_the_same_flags_in_another_order_are_the_same_command() -> None:
    words = (*SERVICE.words()[:3], "--port", "31000", "--page-size", "64")
    assert words != SERVICE.words()
    assert found(process(10, *words)) == []


def test_another_program_is_a_changed_command() -> None:
    words = ("/usr/bin/python3", "-m", "other", *SERVICE.words()[3:])
    assert found(process(10, *words))[0].startswith("changed: decode-0 (pid 10)  args program  /v/bin/python -m")


def test_a_key_on_the_command_line_is_not_repeated() -> None:
    words = (*SERVICE.words(), "--api-key", "hunter2", "--admin-api-key=hunter3")
    told = "\n".join(found(process(10, *words)))
    assert "args api-key  unset -> (left out" in told
    assert "args admin-api-key  unset -> (left out" in told
    assert "hunter" not in told
    assert without_keys(words)[-3:] == (
        "--api-key",
        without_keys(words)[-2],
        f"--admin-api-key={without_keys(words)[-2]}",
    )


@pytest.mark.parametrize("flag", ["--api-key", "--api-key="])
def test_a_flag_whose_value_is_a_secret_is_compared_and_not_repeated(flag: str) -> None:
    keyed = SERVICE.model_copy(update={"argv": (*SERVICE.argv, Argument(words=(flag,), origin=SERVICE.argv[0].origin))})

    def told(key: str) -> list[str]:
        given = (f"{flag}{key}",) if flag.endswith("=") else (flag, key)
        main = process(10, *SERVICE.words(), *given)
        now = LiveService("decode-0", main, (), supervised=True)
        secrets = {"--api-key": "hunter2"}
        return [f"{f.kind}: {f}" for f in deviations(Expected(keyed, ENV, secrets, "/usr/bin/python3"), now)]

    assert told("hunter2") == []
    assert told("hunter3") == [
        "changed: decode-0 (pid 10)  secret --api-key is another than its file holds now",
    ]


def test_a_renamed_process_is_compared_by_the_rest_and_it_says_so() -> None:
    told = found(process(10, "sglang::router  ", environ={"X": "2"}))
    assert told == [
        "unchecked: decode-0 (pid 10)  its command: it calls itself 'sglang::router'; environment and executable were "
        "compared",
        "changed: decode-0 (pid 10)  env X  1 -> 2",
    ]


@pytest.mark.parametrize(
    ("executable", "expected"),
    [
        ("/usr/bin/python3 (deleted)", "changed: decode-0 (pid 10)  executable /usr/bin/python3 was replaced after"),
        ("/tmp/x", "changed: decode-0 (pid 10)  executable  /usr/bin/python3 -> /tmp/x"),
        (None, "unchecked: decode-0 (pid 10)  its executable: it is another user's"),
    ],
)
def test_the_executable(executable: str | None, expected: str) -> None:
    (told,) = found(process(executable=executable))
    assert told.startswith(expected)


def test_the_main_process_has_exactly_the_recorded_environment() -> None:
    assert found(process(environ={"X": "", "Y": "3"})) == [
        "changed: decode-0 (pid 10)  env X  1 -> ''",
        "changed: decode-0 (pid 10)  env Y  unset -> 3",
    ]
    assert found(process(environ={}))[0] == "changed: decode-0 (pid 10)  env X  1 -> unset"
    assert found(process(environ=None)) == ["unchecked: decode-0 (pid 10)  its environment: it cannot be read"]


def test_a_secret_is_compared_and_never_shown() -> None:
    main = process(environ={"X": "1", "TOKEN": "hunter2"})
    assert found(main, secrets={"TOKEN": "hunter2"}) == []
    told = found(main, secrets={"TOKEN": "hunter3"})
    assert told == ["changed: decode-0 (pid 10)  secret TOKEN is another than its file holds now"]
    assert found(process(), secrets={"TOKEN": "t"}) == ["changed: decode-0 (pid 10)  secret TOKEN is not set"]
    assert found(main, secrets={"TOKEN": None}) == [
        "unchecked: decode-0 (pid 10)  secret TOKEN: its file cannot be read"
    ]


def test_what_children_have_beside_their_parent_is_the_engine_s_and_no_alarm() -> None:
    children = (process(11, environ={"X": "2", "NEW": "1"}), process(12, environ={"X": "2", "NEW": "1"}))
    assert found(process(), *children) == [
        "engine: decode-0 (pid 11)  env X  1 -> 2",
        "engine: decode-0 (pid 11)  env NEW  unset -> 1",
    ]
    assert not any(
        f.alarm
        for f in deviations(
            Expected(SERVICE, ENV, {}, "/usr/bin/python3"),
            LiveService("decode-0", process(), children, supervised=True),
        )
    )


def test_a_parent_s_change_is_not_told_again_of_its_children() -> None:
    environ = {"X": "2"}
    assert found(process(environ=environ), process(11, environ=environ)) == [
        "changed: decode-0 (pid 10)  env X  1 -> 2"
    ]


def test_a_child_that_wrote_over_its_environment_is_named() -> None:
    assert found(process(), process(11, "sglang::scheduler", environ=None)) == [
        "unchecked: decode-0 (pid 11)  the environment of sglang::scheduler: it cannot be read"
    ]


def test_by_hand_and_twice() -> None:
    assert found(process(), supervised=False) == ["unsupervised: decode-0 (pid 10)  has no supervisor"]
    assert found(process(), twins=(proc(20),)) == ["twin: decode-0 (pid 20)  carries its mark"]


def test_alarms_are_what_was_not_recorded_so() -> None:
    silent = {kind for kind in WORDS if not Finding(kind, "s", "x").alarm}
    assert silent == {"engine", "silent", "unchecked"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("p", "--a", "1", "--b", "--c=2"), {"program": "p", "a": "1", "b": "on", "c": "2"}),
        (("p", "--a", "1", "2", "--a", "3"), {"program": "p", "a": "1 2, 3"}),
        (("p", "stray", "--a"), {"program": "p stray", "a": "on"}),
        (("p", "--a=-1"), {"program": "p", "a": "-1"}),
    ],
)
def test_flags_of_a_command_line(words: tuple[str, ...], expected: dict[str, str]) -> None:
    assert flags(words, 1) == expected


def ports(holders: Mapping[int, Listener], *, own: tuple[int, ...] = (), running: bool = True) -> list[str]:
    now = {"decode-0": LiveService("decode-0", process(10), (), supervised=True)} if running else {}
    return [f"{f.kind}: {f}" for f in port_findings([SERVICE], holders, now, {"decode-0": own})]


def test_ports() -> None:
    mine, other, hidden = (
        Listener(31000, 10, "mine"),
        Listener(31000, 99, "python x.py"),
        Listener(31000, None, "hidden"),
    )
    assert ports({31000: mine}) == []
    assert ports({31000: hidden}, own=(31000,)) == []
    assert ports({}) == ["silent: decode-0  port 31000 (http): nobody listens"]
    assert ports({}, running=False) == []
    assert ports({31000: other}) == ["foreign: decode-0  port 31000 (http) is held by pid 99 (python x.py)"]
    assert ports({31000: other}, running=False) == ports({31000: other})
    assert ports({31000: hidden}) == ["foreign: decode-0  port 31000 (http) is held by hidden"]
