"""The registry of variables, and what it retires, in each of the three forms that SGLang has had."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher.knobs import EngineKnobs, Place, Reader, Unevaluated, declarations

from ..trees import ENVIRON, engine, line_of


def registry(tmp_path: Path, *, declared: str = "", after: str = "", before: str = "") -> EngineKnobs:
    """An engine with `declared` among its variables, and `after` behind the registry."""
    body = "\n".join(f"    {line}" for line in declared.splitlines())
    text = before + ENVIRON.replace("\n\nenvs = Envs()", f"\n{body}\n\n\nenvs = Envs()") + after
    return declarations(engine(tmp_path, {"srt/environ.py": text}))


def test_kind_default_comment_and_place(tmp_path: Path) -> None:
    wait = declarations(engine(tmp_path)).env["SGLANG_WAIT"]
    assert (wait.kind, wait.default, wait.comment, wait.section) == ("int", 300, "In seconds.", "Timeouts")
    assert wait.declared == Place("srt/environ.py", line_of("SGLANG_WAIT = ", ENVIRON))
    assert declarations(engine(tmp_path)).env["SGLANG_FAST"].comment == "trailing words"


def test_the_spellings_of_a_bool_are_those_of_its_parser(tmp_path: Path) -> None:
    reader = declarations(engine(tmp_path)).env["SGLANG_FAST"].reader
    assert reader == Reader("EnvBool", "bool", ("1", "true", "y", "yes"), ("0", "false", "n", "no"), True, "default")


def test_a_default_below_the_home_directory_stays_an_expression(tmp_path: Path) -> None:
    knobs = registry(tmp_path, declared='SGLANG_DIR = EnvInt(os.path.expanduser("~/x"))', before="import os\n")
    assert knobs.env["SGLANG_DIR"].default == Unevaluated("os.path.expanduser('~/x')")


def test_a_default_that_is_a_function_is_followed(tmp_path: Path) -> None:
    knobs = registry(
        tmp_path,
        declared="SGLANG_CHECK = EnvBool(_default)\nSGLANG_HIP = EnvBool(_hip)",
        before="def _default():\n    return envs.SGLANG_FAST.get()\n\n\ndef _hip():\n    return torch.version.hip\n\n",
    )
    check, hip = knobs.env["SGLANG_CHECK"], knobs.env["SGLANG_HIP"]
    assert (check.default, check.depends_on) == (False, ("SGLANG_FAST",))
    assert hip.default == Unevaluated("_hip")


def test_a_secret_and_an_enumeration(tmp_path: Path) -> None:
    level = "from enum import IntEnum\n\n\nclass Level(IntEnum):\n    OFF = 0\n    ON = 1\n\n\n"
    knobs = registry(
        tmp_path, declared="SGLANG_KEY = EnvInt(None, secret=True)\nSGLANG_LEVEL = EnvInt(Level.ON)", before=level
    )
    assert knobs.env["SGLANG_KEY"].secret
    assert knobs.env["SGLANG_LEVEL"].default == 1


def test_a_field_class_of_a_fork(tmp_path: Path) -> None:
    own = (
        "\n\nclass EnvWords(EnvField):\n    def parse(self, value) -> tuple[str, ...]:\n        return value.split()\n"
    )
    text = ENVIRON.replace("\n\nclass Envs:", f"{own}\n\nclass Envs:\n    FORK_WORDS = EnvWords(())")
    words = declarations(engine(tmp_path, {"srt/environ.py": text})).env["FORK_WORDS"]
    assert (words.kind, words.default) == ("tuple", ())


def test_an_alias_is_known_under_its_old_name(tmp_path: Path) -> None:
    alias = "\n\nclass EnvIntWithAlias(EnvInt):\n    def __init__(self, default, deprecated_name):\n        pass\n"
    text = ENVIRON.replace(
        "\n\nclass Envs:",
        f'{alias}\n\nclass Envs:\n    SGLANG_NEW = EnvIntWithAlias(3, deprecated_name="SGLANG_OLD")',
    )
    env = declarations(engine(tmp_path, {"srt/environ.py": text})).env
    assert env["SGLANG_NEW"].aliases == ("SGLANG_OLD",)
    assert (env["SGLANG_OLD"].replaced_by, env["SGLANG_OLD"].declared) == ("SGLANG_NEW", None)


TABLE = """
class _DeprecatedEnv:
    def __init__(self, replacement=None, transform=None, note=None):
        pass


_DEPRECATED_ENVS = {
    "SGLANG_GONE": _DeprecatedEnv(note="Nothing " "replaces it."),
    "SGLANG_WAS": _DeprecatedEnv("SGLANG_WAIT", lambda text: text + "0"),
}
"""

FUNCTIONS = """
def _print_deprecated_env(old_name, new_name=None):
    if old_name in os.environ:
        if new_name is None:
            warnings.warn(f"{old_name} is gone.")
        else:
            warnings.warn(f"{old_name} is {new_name} now.")
            os.environ[new_name] = os.environ[old_name]


def _convert():
    _print_deprecated_env("SGLANG_GONE")
    _print_deprecated_env("SGLANG_WAS", "SGLANG_WAIT")
    for old, new in {"SGLANG_WAIT_MS": "SGLANG_WAIT"}.items():
        if old in os.environ:
            warnings.warn(f"{old} is in ms")
            os.environ[new] = str(float(os.environ[old]) / 1000)
    for key, value in os.environ.items():
        if key.startswith("SGL_"):
            os.environ[key.replace("SGL_", "SGLANG_", 1)] = value


_convert()
"""


def test_a_table_of_deprecations(tmp_path: Path) -> None:
    env = registry(tmp_path, after=TABLE).env
    assert (env["SGLANG_GONE"].deprecated, env["SGLANG_GONE"].replaced_by) == ("Nothing replaces it.", None)
    assert env["SGLANG_WAS"].replaced_by == "SGLANG_WAIT"
    assert env["SGLANG_WAS"].deprecated == "(its value through lambda text: text + '0')"
    assert env["SGLANG_WAIT"].aliases == ("SGLANG_WAS",)


def test_functions_that_deprecate(tmp_path: Path) -> None:
    knobs = registry(tmp_path, after=FUNCTIONS)
    env = knobs.env
    assert (env["SGLANG_GONE"].deprecated, env["SGLANG_GONE"].replaced_by) == ("SGLANG_GONE is gone.", None)
    assert (env["SGLANG_WAS"].deprecated, env["SGLANG_WAS"].replaced_by) == (
        "SGLANG_WAS is SGLANG_WAIT now.",
        "SGLANG_WAIT",
    )
    assert env["SGLANG_WAIT_MS"].replaced_by == "SGLANG_WAIT"
    assert "1000" in (env["SGLANG_WAIT_MS"].deprecated or "")
    assert knobs.legacy_prefixes == {"SGL_": "SGLANG_"}


@pytest.mark.parametrize("order", ["(new_name, old_name)", "(old_name, new_name)"])
def test_the_order_of_the_arguments_is_the_functions_own(tmp_path: Path, order: str) -> None:
    arguments = '("SGLANG_WAIT", "SGLANG_WAS")' if order.startswith("(new") else '("SGLANG_WAS", "SGLANG_WAIT")'
    text = f"""
def _print_deprecated_env{order}:
    if old_name in os.environ:
        os.environ[new_name] = os.environ[old_name]


_print_deprecated_env{arguments}
"""
    assert registry(tmp_path, after=text).env["SGLANG_WAS"].replaced_by == "SGLANG_WAIT"
