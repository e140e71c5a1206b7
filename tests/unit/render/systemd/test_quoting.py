"""Words for unit files, one by one; tests/real proves them against systemd itself."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launcher.errors import InputError
from launcher.render.systemd.quoting import inside, program, rest, word

PRINTABLE = st.text(st.characters(blacklist_categories=["Cs", "Cc"]))


@pytest.mark.parametrize(
    ("value", "quoted"),
    [
        ("/opt/sglang/venv/bin/python", "/opt/sglang/venv/bin/python"),
        ("a b", '"a b"'),
        ("", '""'),
        ("100%", '"100%%"'),
        ('say "x"', r'"say \"x\""'),
        ("back\\slash", r'"back\\slash"'),
        ("$HOME", '"$HOME"'),
        ("@NUMBER@", r'"\x40NUMBER\x40"'),
        ("it's", '"it\'s"'),
    ],
)
def test_a_word(value: str, quoted: str) -> None:
    assert word(value) == quoted


@given(PRINTABLE)
def test_a_word_is_one_line_and_holds_no_mark(value: str) -> None:
    quoted = word(value)
    assert "@" not in quoted
    assert "\n" not in quoted
    assert not re.search(r"(?<!%)(%%)*%(?!%)", quoted)


def test_a_path_in_the_generation_keeps_its_mark() -> None:
    assert inside("/var/lib/g", "x.sh") == "/var/lib/g/@NUMBER@/x.sh"
    assert inside("/var/my lib/50%", "x.sh") == '"/var/my lib/50%%/@NUMBER@/x.sh"'


@pytest.mark.parametrize("value", [" a", "a ", "a\\", "a@b"])
def test_the_rest_of_a_line_refuses_what_it_cannot_hold(value: str) -> None:
    with pytest.raises(InputError, match="cannot hold"):
        rest(value)


@pytest.mark.parametrize("value", ["a\nb", "a\0b", "\x7f", "\udc80"])
def test_what_no_unit_can_hold_is_refused(value: str) -> None:
    for quoting in (word, rest):
        with pytest.raises(InputError, match="a systemd unit"):
            quoting(value)


@pytest.mark.parametrize("path", ["/a'b", '/a"b', "/a\\b"])
def test_a_program_that_systemd_would_not_run_is_refused(path: str) -> None:
    assert program("/a b%") == "/a b%"
    with pytest.raises(InputError, match="a quote or a backslash"):
        program(path)
