"""What one file does with the environment, in every way that Python has for it."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from launcher.knobs import Read, Unevaluated, Write
from launcher.knobs.harvest.files import Listing
from launcher.knobs.harvest.perfile import facts_of
from launcher.knobs.harvest.sweep import Found, joined, sweep

from ..trees import engine


def found_in(tmp_path: Path, *sources: str, **files: str) -> Found:
    """The uses in a tree that holds `sources` as srt/a.py, srt/b.py, …, and `files` by name, beside the registry."""
    named: dict[str, str | bytes] = {"srt/server_args.py": ""}
    named |= {f"srt/{name}.py": dedent(source) for name, source in zip("abcdef", sources, strict=False)}
    named |= {f"srt/{name}.py": dedent(source) for name, source in files.items()}
    root = engine(tmp_path, named)
    return joined(sweep(root, "sglang", Listing(root).files))


def only(found: Found, name: str) -> Read:
    (read,) = found.reads[name]
    return read


def written(found: Found, name: str) -> Write:
    (write_,) = found.writes[name]
    return write_


@pytest.mark.parametrize(
    ("source", "default"),
    [
        ("import os\nx = os.environ['A_B']", None),
        ("import os\nx = os.environ.get('A_B')", None),
        ("import os\nx = os.environ.get('A_B', 'd')", "d"),
        ("import os\nx = os.environ.get('A_B', default='d')", "d"),
        ("import os\nx = os.environ.get(\n    # why\n    'A_B',\n    'd',\n)", "d"),
        ("import os\nx = os.getenv('A_B', 'd')", "d"),
        ("import os as system\nx = system.getenv('A_B', 'd')", "d"),
        ("from os import environ\nx = environ.get('A_B', 'd')", "d"),
        ("from os import environ as e\nx = e['A_B']", None),
        ("from os import (\n    path,\n    getenv as g,\n)\nx = g('A_B', 'd')", "d"),
        ("import os\nenv = os.environ\nx = env.get('A_B', 'd')", "d"),
        ("import os\ndef f(env=os.environ):\n    return env.get('A_B', 'd')", "d"),
        (
            "import os\ndef f(env=None):\n    env = (\n        env\n        or os.environ\n    )\n"
            "    return env['A_B']",
            None,
        ),
        (
            "import os\nclass C:\n    def __init__(self):\n        self.e = os.environ\n"
            "    def f(self):\n        return self.e['A_B']",
            None,
        ),
        ("import os\nNAME = 'A' + '_B'\nx = os.environ.get(NAME, 1 + 1)", 2),
        ("import os\nclass C:\n    NAME = 'A_B'\n    def f(self):\n        return os.getenv(self.NAME)", None),
        ("import os\ndef f():\n    for name in ('A_B',):\n        print(os.environ[name])", None),
        (
            "import os\ndef f():\n    names = {'A_B': unknown()}\n"
            "    for name, value in names.items():\n        os.getenv(name)",
            None,
        ),
        ("import os\nx = {k: os.environ.get(k) for k in ['A_B']}", None),
        ("import os\nNAME = 'NO'\nclass C:\n    NAME = 'A_B'\n    x = os.getenv(NAME)", None),
        ("import os\nNAME = 'A_B'\nclass C:\n    NAME = 'NO'\n    def f(self):\n        return os.getenv(NAME)", None),
        ("import os\ndef f(long):\n    name = 'A_B'\n    return os.getenv(name)", None),
        ("import os\nx = f\"{os.environ['A_B']}\"", None),
        ("import os\nx = 'A_B' in os.environ", None),
        ("import os\nx = 'A_B' not in os.environ", None),
        ("import os\nx = os.environ.pop('A_B', 'd')", "d"),
        ("import os\nx = lambda: os.getenv('A_B', 'd')", "d"),
        ("import os\ntry:\n    pass\nexcept ValueError:\n    x = os.environ['A_B']", None),
        ("import os\nx = os.environb[b'A'] if 0 else os.environ['A_B']", None),
        ("import os\r\nx = 1\r\ny = os.getenv('A_B')\r\n", None),
    ],
)
def test_a_read(tmp_path: Path, source: str, default: object) -> None:
    read = only(found_in(tmp_path, source), "A_B")
    assert read.place.file == "srt/a.py"
    assert read.default == default


@pytest.mark.parametrize(
    ("source", "how", "value"),
    [
        ("os.environ['A_B'] = '8'", "set", "8"),
        ("os.environ['A_B'] = str(compute())", "set", Unevaluated("str(compute())")),
        ("os.environ.setdefault('A_B', '8')", "default", "8"),
        ("os.environ.update({'A_B': '8'})", "set", "8"),
        ("os.environ.update(A_B='8')", "set", "8"),
        ("os.putenv('A_B', '8')", "set", "8"),
        ("os.unsetenv('A_B')", "clear", None),
        ("del os.environ['A_B']", "clear", None),
        ("os.environ.pop('A_B')", "clear", None),
        ("if 'A_B' not in os.environ:\n    os.environ['A_B'] = '8'", "default", "8"),
        ("if os.environ.get('A_B') is None:\n    os.environ['A_B'] = '8'", "default", "8"),
        ("if not os.getenv('A_B'):\n    os.environ['A_B'] = '8'", "default", "8"),
        ("if 'A_B' in os.environ:\n    pass\nelse:\n    os.environ['A_B'] = '8'", "default", "8"),
        ("if 'A_B' not in os.environ or forced:\n    os.environ['A_B'] = '8'", "set", "8"),
        ("if 'OTHER' not in os.environ:\n    os.environ['A_B'] = '8'", "set", "8"),
    ],
)
def test_a_write(tmp_path: Path, source: str, how: str, value: object) -> None:
    write_ = written(found_in(tmp_path, f"import os\n{source}"), "A_B")
    assert (write_.how, write_.value) == (how, value)


def test_what_is_put_back_is_no_value_of_the_engine(tmp_path: Path) -> None:
    source = """
        import os

        def f():
            before = os.environ.get("A_B")
            os.environ["A_B"] = "1"
            os.environ["A_B"] = before
    """
    assert [write_.how for write_ in found_in(tmp_path, source).writes["A_B"]] == ["set", "restore"]


def test_the_condition_of_a_write(tmp_path: Path) -> None:
    source = "import os\nif cfg.dp_size > 1:\n    os.environ['A_B'] = '0'\nelse:\n    os.environ['C_D'] = '1'"
    found = found_in(tmp_path, source)
    assert (written(found, "A_B").when, written(found, "C_D").when) == ("cfg.dp_size > 1", "not (cfg.dp_size > 1)")


@pytest.mark.parametrize(
    ("expression", "kind", "true", "false", "otherwise"),
    [
        ("int(os.environ.get('A_B', '1'))", "int", (), (), "error"),
        ("float(os.getenv('A_B', '1').strip())", "float", (), (), "error"),
        ("os.getenv('A_B', '0') == '1'", "bool", ("1",), (), "false"),
        ("os.getenv('A_B', '0').lower() in ('true', '1')", "bool", ("1", "true"), (), "false"),
        ("os.getenv('A_B', '1') != '0'", "bool", (), ("0",), "true"),
        ("bool(int(os.getenv('A_B', '1')))", "bool", ("1",), ("0",), "error"),
        ("1 if os.getenv('A_B') else 2", "bool", ("1",), ("",), "true"),
        ("not os.getenv('A_B')", "bool", ("1",), ("",), "true"),
        ("os.getenv('A_B', 'fast') == 'fast'", "str", (), (), None),
        ("os.getenv('A_B', '').split(',')", "tuple", (), (), None),
        ("json.loads(os.environ['A_B'])", "json", (), (), "error"),
        ("os.getenv('A_B') is None", "presence", (), (), None),
        ("os.getenv('A_B')", "unknown", (), (), None),
    ],
)
def test_what_is_made_of_the_text(
    tmp_path: Path, expression: str, kind: str, true: tuple[str, ...], false: tuple[str, ...], otherwise: str | None
) -> None:
    reader = only(found_in(tmp_path, f"import json, os\nx = {expression}"), "A_B").reader
    assert reader is not None
    assert (reader.kind, reader.true, reader.false, reader.otherwise) == (kind, true, false, otherwise)


def test_a_text_that_is_put_aside_first(tmp_path: Path) -> None:
    source = "import os\ndef f():\n    text = os.getenv('A_B')\n    return None if text is None else int(text)"
    reader = only(found_in(tmp_path, source), "A_B").reader
    assert reader is not None
    assert reader.kind == "int"


HELPER = """
    import os

    def get_bool_env_var(name: str, default: str = "false") -> bool:
        value = os.getenv(name, default).lower()
        return value in ("true", "1")
"""


def test_a_name_out_of_two(tmp_path: Path) -> None:
    source = "import os\ndef f(a):\n    name = 'A_B'\n    if a:\n        name = 'C_D'\n    return os.getenv(name)"
    assert set(found_in(tmp_path, source).reads) == {"A_B", "C_D"}


def test_a_helper_reads_for_its_callers_wherever_they_are(tmp_path: Path) -> None:
    caller = "from sglang.srt.a import get_bool_env_var\nON = get_bool_env_var('A_B', default='true')\n"
    found = found_in(tmp_path, HELPER, caller)
    read = only(found, "A_B")
    assert (read.place.file, read.via, read.default) == ("srt/b.py", "get_bool_env_var", "true")
    assert read.reader is not None
    assert read.reader.true == ("1", "true")
    assert found.dynamic == []


def test_a_helper_of_a_helper(tmp_path: Path) -> None:
    wrapper = "from sglang.srt.a import get_bool_env_var\ndef lazy(key):\n    return lambda: get_bool_env_var(key)\n"
    caller = "from sglang.srt.b import lazy\nX = lazy('A_B')\n"
    assert only(found_in(tmp_path, HELPER, wrapper, caller), "A_B").place.file == "srt/c.py"


def test_a_helper_that_completes_the_name(tmp_path: Path) -> None:
    source = """
        import os

        def cache(suffix, kind=str):
            key = f"SGLANG_CACHE_{suffix}"
            return kind(os.getenv(key, "0"))

        SIZE = cache("SIZE", int)
    """
    assert only(found_in(tmp_path, source), "SGLANG_CACHE_SIZE").via == "cache"


def test_a_helper_that_takes_several_names(tmp_path: Path) -> None:
    source = """
        import os

        def first(*names):
            for name in names:
                if os.getenv(name):
                    return os.getenv(name)

        first("A_B", "C_D")
    """
    assert {"A_B", "C_D"} <= set(found_in(tmp_path, source).reads)


def test_a_class_whose_objects_read(tmp_path: Path) -> None:
    source = """
        import os

        class Gated:
            def __init__(self, name, default):
                self._name = name

            def get(self) -> bool:
                return os.environ.get(self._name, "0") in {"1", "on"}

        SPLIT = Gated("A_B", True)
    """
    read = only(found_in(tmp_path, source), "A_B")
    assert (read.via, read.default) == ("Gated", True)
    assert read.reader is not None
    assert read.reader.true == ("1", "on")


def test_a_registry_of_a_fork_in_another_file(tmp_path: Path) -> None:
    source = "from sglang.srt.environ import EnvInt\nclass Fork:\n    FORK_CTAS = EnvInt(512)\n"
    read = only(found_in(tmp_path, source), "FORK_CTAS")
    assert (read.via, read.default) == ("EnvInt", 512)


def test_a_function_of_the_same_name_is_no_helper(tmp_path: Path) -> None:
    other = "def get_bool_env_var(text):\n    return text\nX = get_bool_env_var('NOT_READ')\n"
    assert "NOT_READ" not in found_in(tmp_path, HELPER, other).reads


@pytest.mark.parametrize("use", ["envs.SGLANG_WAIT.get()", "envs.SGLANG_WAIT.is_set()", "use(envs.SGLANG_WAIT)"])
def test_the_registry_is_read(tmp_path: Path, use: str) -> None:
    read = only(found_in(tmp_path, f"from sglang.srt.environ import envs\nx = {use}"), "SGLANG_WAIT")
    assert (read.via, read.reader) == ("registry", None)


def test_the_registry_under_another_name(tmp_path: Path) -> None:
    found = found_in(
        tmp_path,
        "from sglang.srt.environ import envs as e\nx = e.SGLANG_WAIT.get()",
        "import sglang.srt.environ as s\nx = s.envs.SGLANG_FAST.get()",
        "from sglang.srt.environ import envs\nx = getattr(envs, 'SGLANG_UNREAD').get()",
    )
    assert set(found.reads) == {"SGLANG_WAIT", "SGLANG_FAST", "SGLANG_UNREAD"}


def test_the_registry_is_written(tmp_path: Path) -> None:
    source = """
        from sglang.srt.environ import envs

        if not envs.SGLANG_FAST.is_set():
            envs.SGLANG_FAST.set(True)
        envs.SGLANG_WAIT.set(3)
        with envs.SGLANG_UNREAD.override(False):
            pass
    """
    found = found_in(tmp_path, source)
    assert (written(found, "SGLANG_FAST").how, written(found, "SGLANG_FAST").value) == ("default", True)
    assert (written(found, "SGLANG_WAIT").how, written(found, "SGLANG_WAIT").value) == ("set", 3)
    assert written(found, "SGLANG_UNREAD").how == "override"


def test_a_module_called_envs_is_no_registry(tmp_path: Path) -> None:
    own = "import os\nX = {'OTHER': lambda: os.getenv('OTHER')}\ndef __getattr__(name):\n    return X[name]()\n"
    user = "from sglang.srt import envs\nx = envs.SGLANG_WAIT\n"
    assert set(found_in(tmp_path, user, envs=own).reads) == {"OTHER"}


@pytest.mark.parametrize(
    ("source", "pattern"),
    [
        ("x = os.environ[compute()]", None),
        ("x = os.getenv(f'SGLANG_{compute()}_SIZE')", "SGLANG_*_SIZE"),
        ("x = os.getenv('MC_' + compute())", "MC_*"),
        ("for k, v in os.environ.items():\n    if k.startswith('UCX_'):\n        print(v)", "UCX_*"),
        ("x = [k for k in os.environ if k.startswith('UCX_')]", "UCX_*"),
        ("apply(os.environ)", None),
        ("def f():\n    name = 'A_B'\n    name += compute()\n    return os.getenv(name)", None),
        ("def f():\n    name = 'A_B'\n    name, x = compute()\n    return os.getenv(name)", None),
        ("def f():\n    name = 'A_B'\n    with compute() as name:\n        return os.getenv(name)", None),
        ("def f():\n    name = 'A_B'\n    if (name := compute()):\n        return os.getenv(name)", None),
        ("def f():\n    name = 'A_B'\n    for name in compute():\n        pass\n    return os.getenv(name)", None),
        ("os.environ.update(compute())", None),
    ],
)
def test_a_name_that_is_computed_is_reported(tmp_path: Path, source: str, pattern: str | None) -> None:
    found = found_in(tmp_path, f"import os\n{source}")
    assert [(read.pattern, read.place.file) for read in found.dynamic] == [(pattern, "srt/a.py")]
    assert found.reads == {}


def test_a_helper_that_nobody_calls_is_reported(tmp_path: Path) -> None:
    place = found_in(tmp_path, HELPER).dynamic[0].place
    assert (str(place), found_in(tmp_path, HELPER).dynamic[0].expression) == ("srt/a.py:4", "get_bool_env_var(name)")


@pytest.mark.parametrize("source", ["x = dict(os.environ)", "x = {**os.environ}", "x = os.environ.copy()"])
def test_a_copy_for_a_child_reads_nothing(tmp_path: Path, source: str) -> None:
    found = found_in(tmp_path, f"import os\n{source}\nx['A_B'] = '1'")
    assert (found.reads, found.writes, found.dynamic) == ({}, {}, [])


@pytest.mark.parametrize(
    "source", ["# os.environ['A_B']", "'''os.environ['A_B'] envs.A_B'''", "x = 'os.getenv(\"A_B\")'"]
)
def test_comments_and_texts_read_nothing(tmp_path: Path, source: str) -> None:
    assert found_in(tmp_path, source).reads == {}


@pytest.mark.parametrize(
    ("source", "platforms"),
    [
        ("if is_hip():\n    x = os.getenv('A_B')", ("hip",)),
        ("if not is_hip():\n    x = os.getenv('A_B')", ()),
        ("if is_hip() or is_cuda():\n    x = os.getenv('A_B')", ()),
        ("x = _is_npu and os.getenv('A_B')", ("npu",)),
        ("x = os.getenv('A_B') if get_platform().is_sm120 else 0", ("sm120",)),
        ("if is_hip():\n    def f():\n        return os.getenv('A_B')", ("hip",)),
    ],
)
def test_the_platform_of_a_read(tmp_path: Path, source: str, platforms: tuple[str, ...]) -> None:
    assert only(found_in(tmp_path, f"import os\n{source}"), "A_B").platforms == platforms


def test_names_in_texts_are_mentioned(tmp_path: Path) -> None:
    found = found_in(tmp_path, '"""Set SGLANG_SAID to 1."""\nx = {"SGLANG_QUOTED": 1}\n')
    assert str(found.mentions["SGLANG_SAID"]) == "srt/a.py:1"
    assert (set(found.quoted), "SGLANG_SAID" in found.quoted) == ({"SGLANG_QUOTED"}, False)


STATEMENTS = (
    "x = os.environ.get('A_1', '0')",
    "x = get_flag('A_2')",
    "e = os.environ\nx = e['A_3']",
    "x = envs.SGLANG_WAIT.get()",
    "os.environ['A_4'] = '1'",
    "for name in NAMES:\n    os.getenv(name)",
    "for name in names():\n    os.getenv(name)",
    "x = os.getenv(dynamic())",
    "text = '''\ndef not_code():\n    os.environ['A_NO']\n'''",
    "y = [\n    1,\n]  # environ",
    "z = 1",
    "pass",
)


@st.composite
def modules(draw: st.DrawFn) -> str:
    """A module of functions, classes and branches around these statements."""
    lines = ["import os", "from sglang.srt.environ import envs", "NAMES = ('B_1', 'B_2')", ""]
    lines += ["def names():", "    long = 1", "    long = 2", "    long = 3", "    return ['C_1', 'C_2']", ""]
    lines += ["def get_flag(name, default=None):", "    '''Reads.'''", "    return os.environ.get(name, default)", ""]
    for number in range(draw(st.integers(1, 5))):
        body = "\n".join(draw(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=6)))
        for wrapper in draw(st.lists(st.sampled_from(("def", "class", "if", "try", "async")), max_size=3)):
            body = wrapped(wrapper, body, number)
        lines.append(body)
    return "\n".join(lines) + "\n"


def deeper(body: str) -> str:
    """`body` one level in; lines inside a text over several lines stay where they are."""
    lines, inside = [], False
    for line in body.splitlines():
        lines.append(line if inside or not line else f"    {line}")
        inside ^= line.count("'''") % 2 == 1
    return "\n".join(lines)


def wrapped(wrapper: str, body: str, number: int) -> str:
    inner = deeper(body)
    match wrapper:
        case "def":
            return f"def f{number}(\n    a,\n    b=1,\n) -> None:\n    '''Says\ndef nothing\n    '''\n{inner}"
        case "async":
            return f"async def g{number}():\n{inner}"
        case "class":
            return f"class C{number}:\n{inner}"
        case "if":
            return f"if condition:\n{inner}\nelse:\n    pass"
    return f"try:\n{inner}\nexcept ValueError:\n    pass"


CONSTANTS = ("NAME = 'A_5'\n", "NAME = 'A_6'\n", "", "def get_flag(name):\n    return os.environ[name]\nimport os\n")
USERS = (
    "import os\nfrom sglang.srt.c import NAME\nx = os.getenv(NAME)\n",
    "from sglang.srt.c import get_flag\nx = get_flag('A_7')\n",
    "import os\nx = os.getenv('A_8')\n",
    "",
)
TREES = st.fixed_dictionaries(
    {"srt/c.py": st.sampled_from(CONSTANTS), "srt/u.py": st.sampled_from(USERS), "srt/v.py": st.sampled_from(USERS)}
)


@settings(max_examples=60, deadline=None)
@given(before=TREES, after=TREES, gone=st.sets(st.sampled_from(("srt/c.py", "srt/u.py"))))
def test_what_is_kept_of_an_earlier_sweep_changes_nothing(
    before: dict[str, str], after: dict[str, str], gone: set[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = engine(tmp_path_factory.mktemp("tree"), before)
    earlier = sweep(root, "sglang", Listing(root).files)
    earlier = {file: facts_of(json.loads(json.dumps(facts.row()))) for file, facts in earlier.items()}
    engine(root.parent, after)
    for file in gone:
        (root / file).unlink()
    files = Listing(root).files
    unchanged = [file for file in files if before.get(file) == after.get(file)]
    again = sweep(root, "sglang", files, known=earlier, unchanged=unchanged)
    assert again == sweep(root, "sglang", files)


@settings(max_examples=60, deadline=None)
@given(source=modules())
def test_passing_over_what_cannot_matter_loses_nothing(source: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = engine(tmp_path_factory.mktemp("tree"), {"srt/a.py": source})
    files = Listing(root).files
    quick, slow = (joined(sweep(root, "sglang", files, everything=everything)) for everything in (False, True))
    assert quick.notes == slow.notes == []
    assert quick == slow
