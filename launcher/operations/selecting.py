"""Which deployment is meant: named, or the only one there is."""

from __future__ import annotations

from pathlib import Path

from launcher.errors import InputError
from launcher.operations.subject import is_about
from launcher.store import Store, deployments, layout, state_dir


def stores() -> tuple[Store, ...]:
    """The stores of all deployments; raises InputError where there is none."""
    names = deployments()
    if not names:
        raise InputError(f"there is no deployment yet in {state_dir()}", hint="pdlaunch up PROFILE starts one")
    return tuple(Store(layout(name)) for name in names)


def select(target: str | None) -> Store:
    """The store of `target`, a deployment's name or a profile's path; without one, of the only deployment.

    Whatever else is wrong with that profile does not matter: the way back must not depend on it. Raises InputError
    where there is none, or several and nobody said which.
    """
    names = deployments()
    if target is not None:
        name = _named_in(Path(target)) if _is_path(target) else target
        if name not in names:
            known = f"there are: {', '.join(names)}" if names else f"there is none yet in {state_dir()}"
            raise InputError(f"no deployment is called {name!r}; {known}", hint="pdlaunch up PROFILE starts one")
        return _chosen(name)
    if len(names) == 1:
        return _chosen(names[0])
    if not names:
        raise InputError(f"there is no deployment yet in {state_dir()}", hint="pdlaunch up PROFILE starts one")
    raise InputError(f"there are several deployments: {', '.join(names)}", hint=f"say which: -d {names[0]}")


def _chosen(name: str) -> Store:
    is_about(name)
    return Store(layout(name))


def _named_in(profile: Path) -> str:
    from launcher.profile import examine  # and with it YAML, which a name needs not

    return examine(profile).loaded.profile.name


def _is_path(target: str) -> bool:
    return "/" in target or target.endswith((".yaml", ".yml"))
