"""Small engines, written to disk for a test: SGLang in the shape of 0.5.23, and in that of 0.5.6."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

ENVIRON = """
import os
import warnings


class EnvField:
    def __init__(self, default, secret=False):
        self.default = default

    def __set_name__(self, owner, name):
        self.name = name

    def parse(self, value):
        raise NotImplementedError()

    def get(self):
        value = os.getenv(self.name)
        if value is None:
            return self.default
        return self.parse(value)

    def set(self, value):
        os.environ[self.name] = str(value)


class EnvBool(EnvField):
    def parse(self, value):
        value = value.lower()
        if value in ["true", "1", "yes", "y"]:
            return True
        if value in ["false", "0", "no", "n"]:
            return False
        raise ValueError(value)


class EnvInt(EnvField):
    def parse(self, value: str) -> int:
        return int(value)


class Envs:
    # ==========================
    # Timeouts
    # ==========================
    # In seconds.
    SGLANG_WAIT = EnvInt(5 * 60)
    SGLANG_FAST = EnvBool(False)  # trailing words
    SGLANG_UNREAD = EnvBool(True)


envs = Envs()
"""

FIELDS = """
import argparse
import json
from typing import List, Literal, Optional

import msgspec

from sglang.srt.arg_groups.arg_utils import A, Arg

CHOICES = ["auto", "fast"]


class Serving(msgspec.Struct):
    _NS_PATH = "serving"
    model_path: A[str, Arg(help="The model.", aliases=["--model"])]
    port: A[int, "The port."] = 30000
    tp_size: A[int, Arg(help="Tensor parallel.", aliases=["--tensor-parallel-size"])] = 1
    backend: A[str, Arg(help="Backend.", choices=CHOICES)] = "auto"
    mode: A[Literal["null", "prefill", "decode"], "Mode."] = "null"
    quick: A[bool, "Be quick."] = False
    metrics: A[Optional[bool], Arg(help="Metrics.", action=argparse.BooleanOptionalAction)] = None
    sizes: A[Optional[List[int]], "Sizes."] = None
    labels: A[List[str], Arg(help="Labels.", nargs="*")] = msgspec.field(default_factory=list)
    extra: A[Optional[dict], Arg(help="JSON.", type_parser=json.loads)] = None
    hidden: A[bool, Arg(no_cli=True)] = False
    sampler: A[str, Arg(no_cli=True)] = "flashinfer"
    plain: int = 3
"""

SERVER_ARGS = """
import argparse

from sglang.srt.arg_groups.fields import collect_input_fields
from sglang.srt.arg_groups.fields.serving import Serving
from sglang.srt.environ import envs


class Retired(argparse.Action):
    def __init__(self, option_strings, dest, new_flag=None, nargs=0, const=True, default=False, **kwargs):
        super().__init__(option_strings, dest, nargs=nargs, const=const, default=default, **kwargs)


def _names():
    return ["one", "two"]


class ServerArgs:
    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser):
        add_cli_args_from_dataclass(parser, ServerArgs)
        samplers = {"flashinfer", "pytorch"}
        if envs.SGLANG_FAST.get():
            samplers.add("fast")
        parser.add_argument("--sampler", choices=samplers, default=_declared_default("sampler"), help="Sampler.")
        parser.add_argument("--parser", choices=["auto"] + _names(), help=f"One of {_names()}.")
        parser.add_argument("--old-quick", action=Retired, new_flag="--quick", help="Deprecated. Use --quick instead.")


def _declared_default(name):
    return next(field.default for field in msgspec.structs.fields(ServerArgs) if field.name == name)


_annotations = collect_input_fields([Serving])
"""

OLD_SERVER_ARGS = """
import argparse
import dataclasses
from typing import List, Optional

CHOICES = ["auto", "fast"]
CHOICES.append("slow")


@dataclasses.dataclass
class ServerArgs:
    model_path: str
    tp_size: int = 1
    backend: str = "auto"
    sizes: Optional[List[int]] = None

    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser):
        parser.add_argument("--model-path", "--model", type=str, required=True, help="The model.")
        group = parser.add_argument_group("Parallel")
        group.add_argument("--tensor-parallel-size", "--tp-size", type=int, default=ServerArgs.tp_size, help="TP.")
        parser.add_argument("--backend", choices=CHOICES, default=ServerArgs.backend)
        parser.add_argument("--sizes", type=int, nargs="+", default=ServerArgs.sizes)
        for phase in ("prefill", "decode"):
            parser.add_argument(f"--{phase}-delay", type=float, default=0.5)
"""


def write(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """`root`, with these files below it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else dedent(content).encode())
    return root


def engine(root: Path, files: Mapping[str, str | bytes] | None = None) -> Path:
    """The package of a small SGLang in the shape of 0.5.23, with `files` added or replaced."""
    base: dict[str, str | bytes] = {
        "__init__.py": "",
        "_version.py": "__version__ = version = '0.5.23'\n",
        "srt/environ.py": ENVIRON,
        "srt/server_args.py": SERVER_ARGS,
        "srt/arg_groups/fields/serving.py": FIELDS,
    }
    return write(root / "sglang", base | dict(files or {}))


def old_engine(root: Path, files: Mapping[str, str | bytes] | None = None) -> Path:
    """The package of a small SGLang in the shape of 0.4: ``add_argument``, and no registry."""
    base: dict[str, str | bytes] = {"__init__.py": "", "srt/server_args.py": OLD_SERVER_ARGS}
    return write(root / "sglang", base | dict(files or {}))


def line_of(text: str, source: str) -> int:
    """The number of the first line of `source` that contains `text`, from one."""
    return next(number for number, line in enumerate(source.splitlines(), 1) if text in line)
