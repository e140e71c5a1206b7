from __future__ import annotations

import datetime as dt
import itertools
import re

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.errors import InputError
from launcher.lock import from_yaml, plan_of, to_yaml
from launcher.plan.model import Argument, Origin, Secret, Service, Variable

from .making import HERE, a_lock, a_plan, a_service

TEXT = to_yaml(a_lock())
SAYABLE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)
ROOTS = st.sampled_from([None, "state", "cache", "run"])
ORIGINS = st.builds(
    Origin,
    kind=st.sampled_from(["profile", "pdlaunch", "base", "engine"]),
    file=st.none() | SAYABLE,
    line=st.none() | st.integers(1, 10**6),
    note=st.none() | SAYABLE,
)
SERVICES = st.builds(
    a_service,
    argv=st.lists(
        st.builds(Argument, words=st.lists(SAYABLE, min_size=1, max_size=3).map(tuple), origin=ORIGINS), min_size=1
    ).map(lambda rest: (Argument(words=("/bin/python",), origin=HERE), *rest)),
    env=st.lists(
        st.builds(
            Variable, name=st.from_regex(r"\A[A-Za-z][A-Za-z0-9_]*\Z"), value=SAYABLE, root=ROOTS, origin=ORIGINS
        ),
        unique_by=lambda variable: variable.name,
    )
    .map(tuple)
    .filter(lambda env: not {v.name for v in env} & {"env", "argv", "secret", "secrets", "value", "EUID", "PPID"}),
    secrets=st.lists(
        st.builds(Secret, name=st.from_regex(r"\AT_[A-Z]+\Z"), file=SAYABLE, origin=ORIGINS),
        unique_by=lambda secret: secret.name,
    ).map(tuple),
    gpus=st.lists(st.integers(0, 63)).map(tuple),
)


@settings(max_examples=60, deadline=None)
@given(service=SERVICES, why=st.none() | SAYABLE, notes=st.lists(SAYABLE).map(tuple))
def test_a_lock_is_read_back_as_it_was_written(service: Service, why: str | None, notes: tuple[str, ...]) -> None:
    plan = a_plan(service, notes=notes)
    lock = a_lock(plan, why=why)
    text = to_yaml(lock)
    again = from_yaml(text, "x.lock.yaml")
    assert again == lock
    assert to_yaml(again) == text
    assert plan_of(again) == plan


def test_a_common_reader_sees_the_same_values() -> None:
    found = yaml.safe_load(TEXT)
    assert from_yaml(TEXT, "x") == a_lock()
    service = found["services"]["decode-0"]
    assert service["argv"][1] == ["--model-path", "/models/{tiny}"]
    assert service["env"] == {"LANG": "C.UTF-8", "PYTHONPATH": "{state}/engine/41ab", "TEMPLATE": "{{state}/not ours"}
    assert service["secrets"] == {"HF_TOKEN": "/etc/secrets/hf"}
    assert service["gpus"] == [4, 5]
    assert found["engine"]["source"]["edited"] == {"sglang/gone.py": None, "sglang/srt/server.py": "ab" * 32}
    assert found["engine"]["packages"]["count"] == 2
    assert found["allowed"] == [{"what": "PD118", "why": '"bench"', "by": "anna", "until": "2027-01-31"}]


def test_what_is_in_no_digest_changes_none() -> None:
    moved = Origin(kind="profile", file="other.yaml", line=99)
    plan = a_plan()
    services = [
        s.model_copy(update={"argv": tuple(a.model_copy(update={"origin": moved}) for a in s.argv)})
        for s in plan.services
    ]
    later = a_lock(a_plan(*services, notes=()), written=dt.datetime.now(dt.UTC), by="bert", why=None, generation=3)
    assert later.intent == a_lock().intent
    assert later.intent.digest == a_lock().intent.digest
    assert to_yaml(later).partition("\nabout:")[0] == TEXT.partition("\nabout:")[0]


def test_the_order_of_flags_and_variables_is_in_no_digest() -> None:
    program, *flags = a_service().argv
    turned = a_service(argv=(program, *reversed(flags)), env=tuple(reversed(a_service().env)))
    assert a_lock(a_plan(turned)).intent.digest == a_lock(a_plan(a_service())).intent.digest


def test_a_file_cut_short_anywhere_is_refused() -> None:
    ends = [match.end() for match in re.finditer("\n", TEXT)][:-1]
    for end in (*range(0, len(TEXT), 97), *ends):
        with pytest.raises(InputError, match=r"x\.lock\.yaml"):
            from_yaml(TEXT[:end], "x.lock.yaml")


@pytest.mark.parametrize(
    ("old", "new", "section"),
    [
        ("--enable-metrics", "--disable-metrics", "services.prefill-0"),
        ('host: "127.0.0.1"', "host: localhost", "services.prefill-0"),
        ("http: 31000", "http: 31001", "services.prefill-0"),
        ("role: decode", "role: prefill", "services"),
        ("reserved: [31233]", "reserved: [31234]", "services"),
        ('torch: "2.9.1"', 'torch: "2.9.2"', "engine.packages.digest"),
        ("count: 2", "count: 3", "engine.packages.count"),
        ("head: ", "head: x", "engine"),
        ("revision: main", "revision: dev", "model"),
        ('nixl: "1.5.1"\n  ucx', 'nixl: "1.5.2"\n  ucx', "transfer"),
        ('version: "0.3.2"', 'version: "0.3.3"', "router"),
        ("backend: supervisord", "backend: systemd", "backend"),
        ("chunk: 8192", "chunk: 4096", "ready"),
        ("drain: 0.5", "drain: 5", "stop"),
        ("tries: 3", "tries: 4", "restart"),
        ("on_hang: collect", "on_hang: restart", "watch"),
        ("by: anna\n    until", "by: bert\n    until", "allowed"),
        ("deployment: tiny", "deployment: huge", "deployment or profile"),
    ],
)
def test_an_edit_is_refused_by_the_name_of_its_section(old: str, new: str, section: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError) as caught:
        from_yaml(TEXT.replace(old, new, 1), "x.lock.yaml")
    assert caught.value.exit_code == 2
    assert re.match(
        rf"x\.lock\.yaml: {re.escape(section)} was edited: its digest is \S+, the file says \S+$", str(caught.value)
    )


def test_every_line_of_the_intent_counts_but_for_defaults_which_an_older_pdlaunch_may_not_have_known() -> None:
    head, mark, tail = TEXT.partition("\nabout:")
    lines, silent = head.splitlines(), set()
    for number, line in enumerate(lines):
        if not line or line.startswith("#"):
            continue
        without = "\n".join([*lines[:number], *lines[number + 1 :]])
        try:
            assert from_yaml(without + mark + tail, "x.lock.yaml") == a_lock()
            silent.add(line.strip())
        except InputError:
            pass
    assert "after: 10" in silent  # of `watch`: came later than the first locks


def test_a_newer_schema_is_named() -> None:
    with pytest.raises(InputError, match=r"has the schema `lock: 2`, and this pdlaunch knows 1") as caught:
        from_yaml(TEXT.replace("lock: 1", "lock: 2", 1), "x.lock.yaml")
    assert caught.value.hint == (
        "pip install -U pdlaunch, or lock the profile again with this one: pdlaunch lock PROFILE"
    )


@pytest.mark.parametrize("schema", ["0", "true", "~", '"1"', "[1]"])
def test_what_is_no_schema_is_refused(schema: str) -> None:
    with pytest.raises(InputError, match="is no schema"):
        from_yaml(TEXT.replace("lock: 1", f"lock: {schema}", 1), "x.lock.yaml")


@pytest.mark.parametrize("text", ["", "name: tiny\n", "- lock: 1\n", "lock\n", "lock: 1\n", "\0", "a: [b\n"])
def test_what_is_no_lock_ends_in_one_error(text: str) -> None:
    with pytest.raises(InputError, match=r"^x\.lock\.yaml"):
        from_yaml(text, "x.lock.yaml")


@settings(max_examples=200, deadline=None)
@given(text=st.text(), at=st.integers(0, len(TEXT)), gone=st.integers(0, 20))
def test_whatever_stands_there_a_lock_or_one_error_comes_out(text: str, at: int, gone: int) -> None:
    refusal = "x.lock.yaml"
    try:
        from_yaml(TEXT[:at] + text + TEXT[at + gone :], "x.lock.yaml")
    except InputError as error:
        refusal = error.message
    assert refusal.startswith("x.lock.yaml")


def test_origins_must_fit() -> None:
    for old, new in itertools.product(["TEMPLATE: [profile"], ["OTHER: [profile", "TEMPLATE: [nobody"]):
        with pytest.raises(InputError, match="about"):
            from_yaml(TEXT.replace(old, new, 1), "x.lock.yaml")


def test_an_unknown_root_is_named_with_its_line() -> None:
    line = TEXT[: TEXT.index("{state}")].count("\n") + 1
    with pytest.raises(InputError) as caught:
        from_yaml(TEXT.replace("{state}", "{home}", 1), "x.lock.yaml")
    assert caught.value.message == (
        f"x.lock.yaml:{line}: was cut short or edited: services.prefill-0.env.PYTHONPATH: '{{home}}/engine/41ab' "
        "begins with no root that is known: {state}/, {cache}/, {run}/, or {{ for a brace"
    )
