"""Plans side by side: which service, which setting, from which line."""

from __future__ import annotations

import datetime as dt

import pytest

from launcher.compare import changes
from launcher.compare.change import Kind
from launcher.compare.settings import plan_changes
from launcher.plan.model import Argument, Origin, Plan, Secret, Service, Variable
from launcher.profile.model import Waiver, Watch

from .making import WRITTEN, plan, service


def told(before: Plan | None, after: Plan | None) -> list[str]:
    return [str(change) for change in changes(before, after)]


def with_secret(file: str) -> Plan:
    secret = Secret(name="HF_TOKEN", file=file, origin=WRITTEN)
    return plan(service("decode-0").model_copy(update={"secrets": (secret,)}))


def with_env(value: str, **rooted: str) -> Plan:
    variable = Variable.model_validate({"name": "PYTHONPATH", "value": value, "origin": WRITTEN, **rooted})
    return plan(service("decode-0").model_copy(update={"env": (variable,)}).sealed())


def with_words(*words: str) -> Plan:
    flag = Argument(words=words, origin=WRITTEN)
    made = service("decode-0")
    return plan(made.model_copy(update={"argv": (*made.argv, flag)}).sealed())


def test_a_deployment_that_begins_has_every_service() -> None:
    assert told(None, plan(service("prefill-0"), service("decode-0"))) == ["engine  absent -> present"]
    assert changes(None, None) == ()


@pytest.mark.parametrize(
    ("names", "scope"),
    [
        (("prefill-0",), "prefill-0"),
        (("prefill-0", "prefill-1"), "prefill"),
        (("decode-0",), "decode"),
        (("prefill-0", "prefill-1", "decode-0"), "engine"),
        (("router",), "router"),
        (("prefill-0", "prefill-1", "decode-0", "router"), "all"),
        (("prefill-0", "decode-0"), "prefill-0, decode-0"),
        (("decode-0", "router"), "decode-0, router"),
    ],
)
def test_the_same_change_of_several_services_has_the_profile_s_word_for_them(
    names: tuple[str, ...], scope: str
) -> None:
    every = ("prefill-0", "prefill-1", "decode-0", "router")
    before = plan(*(service(name) for name in every))
    after = plan(*(service(name, env={"X": "1"} if name in names else {}) for name in every))
    (change,) = changes(before, after)
    assert (change.scope, change.services, str(change)) == (scope, names, f"{scope}.env X  unset -> 1")


def test_different_values_are_different_changes() -> None:
    before = plan(service("prefill-0"), service("decode-0"))
    after = plan(service("prefill-0", env={"X": "1"}), service("decode-0", env={"X": "2"}))
    assert told(before, after) == ["prefill.env X  unset -> 1", "decode.env X  unset -> 2"]


def test_both_origins_are_kept() -> None:
    moved = Origin(kind="profile", file="p.yaml", line=9)
    before, after = plan(service("decode-0", env={"X": "1"})), plan(service("decode-0", env={"X": "2"}))
    later = after.services[0]
    env = tuple(v.model_copy(update={"origin": moved}) for v in later.env)
    (change,) = changes(before, plan(later.model_copy(update={"env": env})))
    assert change.before is not None
    assert change.after is not None
    assert (change.before.origin, change.after.origin) == (WRITTEN, moved)


def test_a_port_is_one_change_and_not_a_flag_as_well() -> None:
    before, after = (plan(service("decode-0", args={"port": str(p)}, port=p)) for p in (31000, 31010))
    assert told(before, after) == ["decode.ports http  31000 -> 31010"]


def test_cards_are_one_change() -> None:
    before, after = plan(service("decode-0", gpus=(4, 5))), plan(service("decode-0", gpus=(6, 7)))
    assert told(before, after) == ["decode.gpus  4,5 -> 6,7"]


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (("--x", "1"), "x", "1"),
        (("--x", "1", "2"), "x", "1 2"),
        (("--x=-1",), "x", "-1"),
        (("--x",), "x", "on"),
    ],
)
def test_flags_are_read_in_each_form(words: tuple[str, ...], name: str, value: str) -> None:
    assert told(plan(service("decode-0")), with_words(*words)) == [f"decode.args {name}  unset -> {value}"]


def test_the_snapshot_s_path_is_no_setting_and_the_launcher_s_marks_are_none() -> None:
    """An edited source file would show as a changed PYTHONPATH of every service beside itself."""
    one, other = with_env("engine/aaaa", root="state"), with_env("engine/bbbb", root="state")
    assert told(one, other) == []
    assert told(one, with_env("/opt/fork")) == ["decode.env PYTHONPATH  unset -> /opt/fork"]


def test_a_rooted_value_differs_from_the_same_text() -> None:
    assert told(with_env("jit", root="cache"), with_env("jit")) == ["decode.env PYTHONPATH  {cache}/jit -> jit"]


def test_a_secret_shows_its_file_and_its_fingerprint() -> None:
    one = with_secret("/s/token")
    assert changes(one, one, ({"HF_TOKEN": "aaaa"}, {"HF_TOKEN": "aaaa"})) == ()
    (change,) = changes(one, one, ({"HF_TOKEN": "aaaa"}, {"HF_TOKEN": "bbbb"}))
    assert change.values == ("secret from /s/token, fingerprint aaaa", "secret from /s/token, fingerprint bbbb")
    assert changes(one, one, ({}, {"HF_TOKEN": "bbbb"})) == (), "nobody took the other fingerprint"
    (change,) = changes(one, with_secret("/t"), ({"HF_TOKEN (/s/token)": "aaaa"}, {"HF_TOKEN": "bbbb"}))
    assert change.values == ("secret from /s/token, fingerprint aaaa", "secret from /t, fingerprint bbbb")


def of_plan(before: Plan, after: Plan, flags: tuple[str, ...] = ()) -> list[str]:
    return [str(change) for change in plan_changes(before, after, flags)]


def test_what_is_beside_the_services() -> None:
    before = plan(service("decode-0"))
    waiver = Waiver(what="PD118", why="bench", by="anna", until=dt.date(2027, 1, 31))
    after = before.model_copy(update={"watch": Watch(on_hang="restart"), "allowed": (waiver,)})
    assert of_plan(before, after) == [
        "watch.on_hang  collect -> restart",
        'allow PD118  unset -> "bench", anna, until 2027-01-31',
    ]
    assert of_plan(before, plan(service("decode-0"), stop=1.5)) == ["stop.drain  60 -> 1.5"]


def test_what_a_plan_repeats_of_a_flag_is_said_once() -> None:
    before = plan(service("decode-0"))
    after = before.model_copy(update={"context": 4096})
    assert of_plan(before, after) == ["context  unset -> 4096"]
    assert of_plan(before, after, ("context-length",)) == []


def test_every_part_of_a_service_s_identity_is_a_setting() -> None:
    """A part that nobody compares would restart a service without a word."""
    plain = service("decode-0")
    kinds: dict[str, Kind] = {"host": "run", "user": "run", "gpus": "gpus"}
    others: dict[str, Service] = {
        "host": plain.model_copy(update={"host": "::1"}),
        "user": plain.model_copy(update={"user": "sglang"}),
        "gpus": plain.model_copy(update={"gpus": (1,)}),
    }
    assert plain.identity().keys() == {"program", "flags", "env", "secrets", "gpus", "host", "ports", "user"}
    for name, other in others.items():
        assert other.digest() != plain.digest()
        (change,) = changes(plan(plain), plan(other))
        assert change.kind == kinds[name]
