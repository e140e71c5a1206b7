"""Run a function right after the first import of a named module, and only then."""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class _ThenCall(Loader):
    """The module's own loader, and a function called with the finished module."""

    def __init__(self, loader: Loader, then: Callable[[ModuleType], None]) -> None:
        self._loader, self._then = loader, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The module as its own loader makes it."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, then the function."""
        self._loader.exec_module(module)
        self._then(module)


class _Watch(MetaPathFinder):
    """Finds one module where the interpreter would find it, and hands it to `_ThenCall`."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self._name, self._then = name, then

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The watched module's own spec with its loader wrapped; None for every other name."""
        if fullname != self._name:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenCall(spec.loader, self._then)
        return spec


def after_import(name: str, then: Callable[[ModuleType], None]) -> None:
    """Call `then` with the module `name` when, and if, it is first imported."""
    sys.meta_path.insert(0, _Watch(name, then))
