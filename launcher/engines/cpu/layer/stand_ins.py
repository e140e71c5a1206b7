"""Stand-ins for packages that SGLang imports on every machine and that a CPU has no build of.

A stand-in lets ``import triton`` and ``@triton.jit`` pass. It computes nothing: on a CPU SGLang takes its plain torch
paths and calls no kernel. A real package always wins.
"""

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

PACKAGES = ("triton", "torchvision", "sgl_kernel")


class _NameOfMember(type):
    """Members of a stand-in class are their own dotted names, so that tables built from them have keys."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return f"{cls.__name__}.{name}"


class _StandInClass(metaclass=_NameOfMember):
    def __init_subclass__(cls, **_options: object) -> None:
        super().__init_subclass__()

    def __init__(self, *_args: object, **_options: object) -> None: ...


def _unchanged(function: object = None, *_args: object, **_options: object) -> object:
    return function


class StandIn(ModuleType):
    """A module whose every attribute exists: classes where the name is capitalised, else more stand-ins.

    Called with one function it returns that function, called with options it returns such a decorator: kernels
    stay plain functions. It is false and empty, so that "have we got it" tests on it fail.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self.__file__ = __file__
        self.__spec__ = ModuleSpec(name, None, is_package=True)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        value: object
        if name[:1].isupper():
            value = _NameOfMember(name, (_StandInClass,), {"__module__": self.__name__})
        else:
            value = sys.modules.setdefault(full, StandIn(full))
        setattr(self, name, value)
        return value

    def __call__(self, *args: object, **options: object) -> object:
        """The function itself, or a decorator that returns it."""
        if len(args) == 1 and callable(args[0]) and not options:
            return args[0]
        return _unchanged

    def __bool__(self) -> bool:
        return False

    def __iter__(self) -> Iterator[object]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __contains__(self, _item: object) -> bool:
        return False


class _Config:
    """``triton.Config``: tuning tables read these three fields back at import time."""

    def __init__(self, kwargs: dict[str, object], num_warps: int = 4, num_stages: int = 2, **_more: object) -> None:
        self.kwargs, self.num_warps, self.num_stages = kwargs, num_warps, num_stages


class _Constexpr:
    """``triton.language.constexpr``: a value that kernels see as a constant."""

    def __init__(self, value: object = None) -> None:
        self.value = value


def _cdiv(a: int, b: int) -> int:
    return -(a // -b)


def _next_power_of_2(n: int) -> int:
    return 1 << (n - 1).bit_length() if n > 0 else 1


# Called or read while SGLang's modules are imported, outside any kernel: here the real meaning is needed.
_REAL_MEMBERS: dict[str, dict[str, object]] = {
    "triton": {"__version__": "3.6.0", "Config": _Config, "cdiv": _cdiv, "next_power_of_2": _next_power_of_2},
    "triton.language": {"constexpr": _Constexpr},
}


class StandInFinder(MetaPathFinder, Loader):
    """Answers imports of the named packages, and of whatever lies under them, with stand-ins."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = frozenset(packages)

    def covers(self, name: str) -> bool:
        """Whether `name` is one of the packages or lies under one."""
        return name.partition(".")[0] in self.packages

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A spec that leads to a stand-in; None for every other name."""
        return ModuleSpec(fullname, self, is_package=True) if self.covers(fullname) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A stand-in, with the few members whose meaning matters."""
        module = StandIn(spec.name)
        vars(module).update(_REAL_MEMBERS.get(spec.name, {}))
        return module

    def exec_module(self, module: ModuleType) -> None:
        """A stand-in has no code."""


def _honest(probe: Callable[..., ModuleSpec | None], finder: StandInFinder) -> Callable[..., ModuleSpec | None]:
    """`importlib.util.find_spec` that calls a stood-in package absent.

    transformers and others ask before they import; told "present", they would use torchvision.
    """

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if finder.covers(name) else probe(name, package)

    return find_spec


def installed() -> bool:
    """Whether this process has the stand-ins already."""
    return any(isinstance(finder, StandInFinder) for finder in sys.meta_path)


def install() -> StandInFinder:
    """Stand in for those `PACKAGES` that this environment lacks."""
    finder = StandInFinder([name for name in PACKAGES if PathFinder.find_spec(name) is None])
    sys.meta_path.append(finder)
    importlib.util.find_spec = _honest(importlib.util.find_spec, finder)
    return finder
