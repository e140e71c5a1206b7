import pytest

from launcher.simulator import KNOWN_FLAGS
from launcher.simulator.arguments import parse


def test_every_name_is_written_once() -> None:
    names = [name for flag in KNOWN_FLAGS.values() for name in (flag.name, *flag.aliases)]
    assert len(names) == len(set(names))


def test_every_name_is_as_flags_are_written() -> None:
    assert [name for name in KNOWN_FLAGS if name != name.lower() or "_" in name or name.startswith("-")] == []


def test_every_default_is_one_of_its_choices() -> None:
    assert [f for f in KNOWN_FLAGS.values() if f.choices and f.default is not None and f.default not in f.choices] == []


@pytest.mark.parametrize("name", [name for name, flag in KNOWN_FLAGS.items() if flag.type != "switch"])
def test_a_known_flag_takes_a_value(name: str) -> None:
    flag = KNOWN_FLAGS[name]
    sample = {"int": "7", "float": "0.5", "str": flag.choices[-1] if flag.choices else "word"}[flag.type]
    settings = parse(["--model-path", "tiny", f"--{name}", sample])
    assert str(settings.values[flag.key]) == sample
    assert settings.unknown == {}


def test_the_package_exports_its_flags_and_variables() -> None:
    from launcher.simulator import KNOWN_ENV

    assert {"disaggregation-mode", "nccl-port", "kv-cache-dtype"} <= set(KNOWN_FLAGS)
    assert all(text for text in KNOWN_ENV.values())
