"""getenv in C++ and CUDA."""

from __future__ import annotations

import pytest

from launcher.knobs.harvest.native import scan_native


def names(source: str) -> list[tuple[str, int]]:
    reads, _ = scan_native(source.encode(), "a.cu")
    return [(name, read.place.line) for name, read in reads]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('const char* v = std::getenv("A_B");', [("A_B", 1)]),
        ('\n\nauto v = getenv( "A_B" );', [("A_B", 3)]),
        ('char* v = secure_getenv("A_B");', [("A_B", 1)]),
        ('// getenv("A_B")', []),
        ('/* getenv("A_B")\n */ getenv("C_D");', [("C_D", 2)]),
        ('log("// not a comment"); getenv("A_B");', [("A_B", 1)]),
        (
            'auto on = [](char const *name) {\n  return std::getenv(name);\n};\non("A_B");\non( "C_D");',
            [("A_B", 4), ("C_D", 5)],
        ),
        (
            'int env_int(const char* key, int fallback) {\n  return getenv(key);\n}\nint x = env_int("A_B", 1);',
            [("A_B", 4)],
        ),
    ],
)
def test_reads(source: str, found: list[tuple[str, int]]) -> None:
    assert names(source) == found


def test_a_name_that_is_computed_is_reported() -> None:
    reads, dynamic = scan_native(b"void f() {\n  getenv(make_name(1));\n}", "a.cpp")
    assert reads == []
    assert [(str(each.place), each.expression) for each in dynamic] == [("a.cpp:2", "getenv(make_name(1))")]


def test_bytes_that_are_no_text() -> None:
    assert scan_native(b'\xff\xfe getenv("A_B")', "a.h")[0][0][0] == "A_B"
