"""Flags, from annotated fields and from ``add_argument``."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher.knobs import EngineKnobs, Place, Unevaluated, declarations

from ..trees import FIELDS, OLD_SERVER_ARGS, SERVER_ARGS, engine, line_of, old_engine


def flags(package: Path) -> EngineKnobs:
    return declarations(package)


def added(tmp_path: Path, *lines: str, before: str = "") -> EngineKnobs:
    """An engine whose parser gets `lines` at its end, with `before` at the top of the module."""
    body = "\n".join(f"        {line}" for line in lines)
    return declarations(old_engine(tmp_path, {"srt/server_args.py": f"{before}\n{OLD_SERVER_ARGS}\n{body}\n"}))


def test_fields_become_flags_as_the_engine_makes_them(tmp_path: Path) -> None:
    found = flags(engine(tmp_path)).flags
    assert list(found) == [
        *("help", "model-path", "port", "tp-size", "backend", "mode", "quick", "metrics", "sizes", "labels", "extra"),
        *("sampler", "parser", "old-quick"),
    ]
    model, port = found["model-path"], found["port"]
    assert (model.required, model.options, model.default) == (True, ("model-path", "model"), None)
    assert (port.type, port.default, port.required) == ("int", 30000, False)
    assert port.declared == Place("srt/arg_groups/fields/serving.py", line_of("port: A[int", FIELDS))
    assert found["backend"].choices == ("auto", "fast")
    assert (found["mode"].choices, found["mode"].type) == (("null", "prefill", "decode"), "str")
    assert (found["quick"].action, found["quick"].takes_value, found["quick"].const) == ("store_true", False, True)
    assert (found["metrics"].negations, found["metrics"].default) == (("no-metrics",), None)
    assert (found["sizes"].nargs, found["sizes"].type, found["labels"].nargs) == ("+", "int", "*")
    assert (found["labels"].default, found["extra"].type) == ((), "json.loads")


def test_choices_that_hang_on_a_variable_say_so(tmp_path: Path) -> None:
    sampler = flags(engine(tmp_path)).flags["sampler"]
    assert sampler.choices == ("flashinfer", "pytorch")
    assert sampler.default == "flashinfer"
    unused = flags(engine(tmp_path / "b", {"srt/environ.py": "class Envs:\n    pass\n"})).flags["sampler"]
    assert isinstance(unused.choices, Unevaluated)


def test_what_functions_of_the_engine_return(tmp_path: Path) -> None:
    parser = flags(engine(tmp_path)).flags["parser"]
    assert parser.choices == ("auto", "one", "two")
    assert parser.help == "One of ['one', 'two']."


def test_a_retired_flag_names_what_replaced_it(tmp_path: Path) -> None:
    old = flags(engine(tmp_path)).flags["old-quick"]
    assert (old.deprecated, old.replaced_by, old.refused) == ("Deprecated. Use --quick instead.", "--quick", False)
    assert (old.nargs, old.const, old.default, old.takes_value) == (0, True, False, False)


def test_add_argument_with_defaults_of_the_class(tmp_path: Path) -> None:
    found = flags(old_engine(tmp_path)).flags
    tp = found["tp-size"]
    assert (tp.options, tp.default, tp.group, tp.dest) == (
        ("tensor-parallel-size", "tp-size"),
        1,
        "Parallel",
        "tensor_parallel_size",
    )
    assert found["backend"].choices == ("auto", "fast", "slow")
    assert (found["prefill-delay"].default, found["decode-delay"].default) == (0.5, 0.5)


def test_what_cannot_be_evaluated_stays_an_expression(tmp_path: Path) -> None:
    knobs = added(
        tmp_path,
        "parser.add_argument('--size', type=int, default=compute())",
        "parser.add_argument('--kind', choices=kinds() + ['x'])",
        before="from outside import compute, kinds",
    )
    assert knobs.flags["size"].default == Unevaluated("compute()")
    assert knobs.flags["kind"].choices == Unevaluated("kinds()")


def test_a_flag_under_an_unknown_condition_says_which(tmp_path: Path) -> None:
    knobs = added(
        tmp_path,
        "if has_gpu():",
        "    parser.add_argument('--on-gpu', action='store_true')",
        "else:",
        "    parser.add_argument('--on-cpu', action='store_true')",
        before="from outside import has_gpu",
    )
    assert knobs.flags["on-gpu"].when == "has_gpu()"
    assert knobs.flags["on-cpu"].when == "not (has_gpu())"


def test_a_flag_with_a_computed_name_is_noted(tmp_path: Path) -> None:
    knobs = added(tmp_path, "parser.add_argument(f'--{outside()}')", before="from outside import outside")
    assert [note.text for note in knobs.notes] == ["flag with a computed name: parser.add_argument(f'--{outside()}')"]


def test_a_flag_that_the_engine_refuses(tmp_path: Path) -> None:
    knobs = added(
        tmp_path,
        "parser.add_argument('--gone', action=DeprecatedAction, error_message='Use --here instead.')",
        before="from outside import DeprecatedAction",
    )
    gone = knobs.flags["gone"]
    assert (gone.refused, gone.replaced_by, gone.deprecated) == (True, "--here", "Use --here instead.")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("'-v', '--verbose', action='count'", {"short": ("-v",), "nargs": 0, "takes_value": False}),
        ("'--pair', nargs=2, type=int", {"nargs": 2, "type": "int", "takes_value": True}),
        ("'--maybe', nargs='?', const='x', default='y'", {"nargs": "?", "const": "x", "default": "y"}),
        ("'--off', action='store_false'", {"default": True, "const": False, "type": "bool"}),
        ("'--add', action='append'", {"action": "append", "takes_value": True}),
        ("'--n', type=lambda s: int(s)", {"type": "lambda s: int(s)"}),
        ("'--under_score', dest='other'", {"name": "under_score", "dest": "other"}),
    ],
)
def test_argparse_forms(tmp_path: Path, call: str, expected: dict[str, object]) -> None:
    knobs = added(tmp_path, f"parser.add_argument({call})")
    flag = list(knobs.flags.values())[-1]
    assert {name: getattr(flag, name) for name in expected} == expected


def test_a_parser_that_takes_no_fields_list_known_to_us_is_noted(tmp_path: Path) -> None:
    text = SERVER_ARGS.replace("collect_input_fields([Serving])", "collect_input_fields(all_of_them())")
    knobs = flags(engine(tmp_path, {"srt/server_args.py": text}))
    assert [note.text for note in knobs.notes] == ["flags not read: collect_input_fields(all_of_them())"]
