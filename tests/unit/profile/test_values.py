from __future__ import annotations

import json
from pathlib import Path

import pytest

from launcher.profile.kinds import RefusedError
from launcher.profile.parsing import parse
from launcher.profile.tree import Block, Node
from launcher.profile.values import ARG, ENV, SECRET


def node(text: str) -> Node:
    tree, findings = parse(f"key: {text}\n", Path("x.yaml"))
    assert findings == []
    assert isinstance(tree, Block)
    return tree.entries[0].value


class TestScalarsOfFlagsAndVariables:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("0.90", "0.90"),
            ("1e3", "1e3"),
            ("-1", "-1"),
            ("+1", "+1"),
            ("4096", "4096"),
            (".5", ".5"),
            ("0", "0"),
            ("true", True),
            ("false", False),
            ("~", None),
            ('"true"', "true"),
            ("'no'", "no"),
            ('""', ""),
            ('"0755"', "0755"),
            ("fp8_e4m3", "fp8_e4m3"),
            ("cuda_copy,cuda_ipc,sm", "cuda_copy,cuda_ipc,sm"),
            ("127.0.0.1:8000", "127.0.0.1:8000"),
            ("mlx5_0", "mlx5_0"),
            ('$HOME/${x} `y` "z" %', '$HOME/${x} `y` "z" %'),
            ("|\n  two\n  lines", "two\nlines\n"),
            ("yesterday", "yesterday"),
            ("0.5.23", "0.5.23"),
        ],
    )
    def test_stay_as_they_are_written(self, text: str, value: object) -> None:
        for kind in (ARG, ENV):
            got = kind.read(node(text))
            assert got == value
            assert type(got) is type(value)

    @pytest.mark.parametrize(
        ("text", "becomes", "write"),
        [
            *[(word, "true", "true") for word in ("on", "On", "ON", "yes", "Yes", "y", "Y", "True", "TRUE")],
            *[(word, "false", "false") for word in ("off", "no", "No", "n", "N", "False", "FALSE")],
            ("1:30", "90", '"1:30"'),
            ("12:30:45", "45045", '"12:30:45"'),
            ("1:30.5", "90.5", '"1:30.5"'),
            ("0755", "493", '"0755"'),
            ("0o17", "15", '"0o17"'),
            ("08", "8", '"08"'),
            ("0x1F", "31", '"0x1F"'),
            ("-0x1F", "-31", '"-0x1F"'),
            ("0b101", "5", '"0b101"'),
            ("1_000", "1000", '"1_000"'),
            ("1_0.5", "10.5", '"1_0.5"'),
            (".inf", "a number that is not finite", '".inf"'),
            ("-.INF", "a number that is not finite", '"-.INF"'),
            (".nan", "a number that is not finite", '".nan"'),
            ("2026-12-01", "a date", '"2026-12-01"'),
            ("2026-12-01T10:00:00Z", "a date", '"2026-12-01T10:00:00Z"'),
            ("null", "nothing", "~"),
            ("NULL", "nothing", "~"),
            ("", "nothing", "~"),
        ],
    )
    def test_that_other_readers_change_are_refused_with_what_they_become(
        self, text: str, becomes: str, write: str
    ) -> None:
        for kind in (ARG, ENV):
            with pytest.raises(RefusedError) as caught:
                kind.read(node(text))
            assert becomes in caught.value.error
            assert caught.value.write == write

    @pytest.mark.parametrize("text", ['"a\\0b"', '"\\ud800"'])
    def test_that_no_process_can_be_given_are_refused(self, text: str) -> None:
        for kind in (ARG, ENV):
            with pytest.raises(RefusedError, match="no process"):
                kind.read(node(text))


class TestListsAndMappings:
    def test_a_list_becomes_several_texts(self) -> None:
        assert ARG.read(node("[1, 2.50, x, '~']")) == ("1", "2.50", "x", "~")

    @pytest.mark.parametrize("text", ["[]", "[[1]]", "[true]", "[~]", "[no]"])
    def test_lists_without_a_meaning_are_refused(self, text: str) -> None:
        with pytest.raises(RefusedError):
            ARG.read(node(text))

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("{}", "{}"),
            ("{thinking: true}", '{"thinking":true}'),
            ("{b: 1, a: 0.90}", '{"b":1,"a":0.90}'),
            ("{a: '1', b: ~, c: null, d: [x, {e: -2}]}", '{"a":"1","b":null,"c":null,"d":["x",{"e":-2}]}'),
            ('{"a b": "q\\"\\u00e4\\n"}', '{"a b":"q\\"ä\\n"}'),
            ("{512: x}", '{"512":"x"}'),
            ("{a: 1.5e+3}", '{"a":1.5e+3}'),
        ],
    )
    def test_a_mapping_becomes_compact_json_in_its_order(self, text: str, value: str) -> None:
        got = ARG.read(node(text))
        assert got == value
        json.loads(value)

    @pytest.mark.parametrize(
        "text", ["{a: no}", "{a: 0x1}", "{a: .inf}", "{a: 1e3}", "{a: .5}", "{a: 5.}", "{a: +5}", "{a: }"]
    )
    def test_json_that_readers_disagree_on_is_refused(self, text: str) -> None:
        with pytest.raises(RefusedError):
            ARG.read(node(text))

    @pytest.mark.parametrize("text", ["[1]", "{a: 1}"])
    def test_a_variable_is_one_text(self, text: str) -> None:
        with pytest.raises(RefusedError, match="one text"):
            ENV.read(node(text))


class TestSecrets:
    def test_are_named_by_a_whole_path(self) -> None:
        assert SECRET.read(node("/etc/pdlaunch/secrets/x")) == "/etc/pdlaunch/secrets/x"
        assert SECRET.read(node("~")) is None

    @pytest.mark.parametrize("text", ["hf_abc", "./x", "~/x", "/", "true", "[/x]", '""', '"/a\\nb"', "/etc/"])
    def test_values_and_relative_paths_are_refused(self, text: str) -> None:
        with pytest.raises(RefusedError, match="whole path"):
            SECRET.read(node(text))
