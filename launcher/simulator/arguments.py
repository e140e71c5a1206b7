"""From a command line to settings, read as SGLang's parser reads it; what cannot be read ends in one line, exit 2."""

import argparse
import re
from collections.abc import Sequence
from typing import Final, NamedTuple, NoReturn

from .environ import KNOWN_ENV
from .flags import KNOWN_FLAGS

Value = str | int | float | bool | list[str] | None

_FLAG_SHAPE: Final = re.compile(r"--[a-z0-9][a-z0-9-]*")
_NEGATIVE: Final = re.compile(r"-[0-9.]+")


class Settings(NamedTuple):
    """The resolved command line: known flags with types and defaults, unknown ones as given."""

    values: dict[str, Value]
    unknown: dict[str, Value]
    launch_command: str

    def text(self, key: str) -> str:
        """The value of a flag that is always set, as text."""
        return str(self.values[key])

    def number(self, key: str) -> int:
        """The value of a flag that is always set, as a whole number."""
        value = self.values[key]
        if not isinstance(value, int):
            raise TypeError(f"{key} is not a whole number: {value!r}")
        return value

    def switch(self, key: str) -> bool:
        """Whether a switch was given."""
        return self.values[key] is True

    @property
    def role(self) -> str:
        """`prefill`, `decode` or, for a server that does both, `aggregated`."""
        mode = self.text("disaggregation_mode")
        return "aggregated" if mode == "null" else mode


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"simulator: error: {message}\n")


def _variables() -> str:
    return "".join(f"\n  {name}\n      {text}" for name, text in KNOWN_ENV.items())


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m launcher.simulator",
        description="A simulator: an engine without a model that speaks what SGLang's servers speak.",
        epilog=f"Flags that it does not know are recorded.\n\nEnvironment variables that it reads:{_variables()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    readers = {"str": str, "int": int, "float": float}
    for flag in KNOWN_FLAGS.values():
        names = [f"--{name}" for name in (flag.name, *flag.aliases)]
        if flag.type == "switch":
            parser.add_argument(*names, dest=flag.key, action="store_true")
        else:
            parser.add_argument(
                *names,
                dest=flag.key,
                type=readers[flag.type],
                default=flag.default,
                choices=flag.choices or None,
                required=flag.required,
            )
    return parser


def _unknown(parser: argparse.ArgumentParser, words: Sequence[str]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    key = ""
    for word in words:
        if word.startswith("-") and not _NEGATIVE.fullmatch(word):
            name, equals, value = word.partition("=")
            if not _FLAG_SHAPE.fullmatch(name):
                parser.error(f"not a flag: {word!r}; flags are written --name VALUE, lower case")
            key = name.removeprefix("--").replace("-", "_")
            found[key] = value if equals else True
        elif not key:
            parser.error(f"a value without a flag: {word!r}")
        else:
            before = found[key]
            found[key] = word if before is True else [*(before if isinstance(before, list) else [str(before)]), word]
    return found


def _resolve(values: dict[str, Value]) -> None:
    """Fill what SGLang's resolution fills; the numbers are the simulator's own."""
    values["served_model_name"] = values["served_model_name"] or values["model_path"]
    values["tokenizer_path"] = values["tokenizer_path"] or values["model_path"]
    values["device"] = values["device"] or "simulator"
    for key, default in (
        ("context_length", 262144),
        ("page_size", 1),
        ("chunked_prefill_size", 8192),
        ("max_running_requests", 256),
        ("max_total_tokens", 1_048_576),
        ("random_seed", 0),
        ("mem_fraction_static", 0.9),
    ):
        if values[key] is None:
            values[key] = default
    # sglang/srt/arg_groups/pd_disaggregation_hook.py: a decode server keeps no prefix cache unless told to.
    if values["disaggregation_mode"] == "decode" and not values["disaggregation_decode_enable_radix_cache"]:
        values["disable_radix_cache"] = True
    if values["load_balance_method"] == "auto":
        prefill = values["disaggregation_mode"] == "prefill"
        values["load_balance_method"] = "follow_bootstrap_room" if prefill else "round_robin"


def parse(argv: Sequence[str]) -> Settings:
    """Read a command line without the program's name; ends the process with one line and exit code 2 if it cannot."""
    parser = _parser()
    namespace, rest = parser.parse_known_args(list(argv))
    unknown = _unknown(parser, rest)
    values: dict[str, Value] = dict(vars(namespace))
    _resolve(values)
    for key in ("page_size", "tp_size", "dp_size", "context_length", "max_running_requests"):
        value = values[key]
        if isinstance(value, int) and value < 1:
            parser.error(f"argument --{key.replace('_', '-')}: must be at least 1, not {value}")
    # Joined by blanks without quoting, as SGLang reports it: sglang/srt/sampling/watermarking/core.py.
    return Settings(values, unknown, " ".join(argv))
