"""Leaving out function bodies: what is left says the same, on the same lines."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from launcher.knobs.harvest.elide import ElidedError, body_of, elided

SOURCE = dedent('''
    """Module."""
    import os

    NAME = "A"


    @decorated(
        1,
    )
    def long(
        a,
        b=1,
    ) -> None:
        """Says:

    def not_a_function():
        return 1
        """
        x = 1
        # a comment at an odd place
    # and another
        y = 2
        return x + y


    class C:
        FIELD = 3

        async def method(self):  # a comment
            text = """
    class NotAClass:
        pass
    """
            other = [
                1,
            ]
            return text

        def short(self): return 1

        def kept(self):
            a = 1
            b = 2
            c = 3
            return os.environ


    LAST = """
    def nothing(): pass
    """
''')
LINE = next(n for n, line in enumerate(SOURCE.splitlines(), 1) if "os.environ" in line)


def functions(source: bytes | str) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    return {
        node.name: node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_the_rest_stays_on_its_lines() -> None:
    shorter = elided(SOURCE.encode(), {LINE})
    assert shorter is not None
    assert len(shorter) < len(SOURCE) - 200
    before, after = functions(SOURCE), functions(shorter)
    assert list(before) == list(after) == ["long", "method", "short", "kept"]
    assert ast.dump(before["kept"], include_attributes=True) == ast.dump(after["kept"], include_attributes=True)
    assert {name: node.lineno for name, node in before.items()} == {name: node.lineno for name, node in after.items()}
    assert ast.dump(before["long"].args) == ast.dump(after["long"].args)
    assert [ast.dump(s) for s in ast.parse(SOURCE).body if isinstance(s, ast.Assign | ast.Import)] == [
        ast.dump(s) for s in ast.parse(shorter).body if isinstance(s, ast.Assign | ast.Import)
    ]


def test_whoever_looks_into_a_body_that_was_left_out_is_told() -> None:
    shorter = elided(SOURCE.encode(), {LINE})
    assert shorter is not None
    found = functions(shorter)
    for name in ("long", "method"):
        with pytest.raises(ElidedError):
            body_of(found[name])
    assert len(body_of(found["kept"])) == 4
    assert len(body_of(found["short"])) == 1


@pytest.mark.parametrize(
    "source",
    [
        b'x = """never ends\ndef f():\n    pass\n',
        b"def f():\n\treturn 1\n",
        b"def f():\r\n    return 1\r\n",
    ],
)
def test_what_is_unusual_is_read_as_a_whole(source: bytes) -> None:
    assert elided(source, ()) is None


@pytest.mark.parametrize(
    "source",
    [
        'def f():\n    x = """a\\"""b\n"""\n    y = 1\n    z = 2\n    return 3\nA = 1\n',
        "def f():\n    x = '''a\n'''; y = \"'''\"\n    z = 2\n    w = 3\n    return 3\nA = 1\n",
        'def f():\n    # """ is no string\n    y = 1\n    z = 2\n    return 3\nA = 1\n',
        "def f(\n    a=lambda: (1,),\n):\n    y = 1\n    z = 2\n    return 3\nA = 1\n",
        "def f(): # ends:\n    y = 1\n    z = 2\n    return 3\nA = 1\n",
        "if True:\n    def f():\n        y = 1\n        z = 2\n        return 3\n    A = 1\n",
        "def f():\n    y = (\n1,\n)\n    z = 2\n    return 3\nA = 1\n",
        "def f():\n    def g():\n        y = 1\n        z = 2\n        return 3\n    return g\nA = 1\n",
    ],
)
def test_what_follows_a_body_is_still_there(source: str) -> None:
    shorter = elided(source.encode(), ())
    assert shorter is not None
    try:
        tree = ast.parse(shorter)
    except SyntaxError:
        return  # then the file is read as a whole
    names = [node.targets[0] for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    assert "A" in [name.id for name in names if isinstance(name, ast.Name)]
