"""Say what an engine is from its files alone: nothing of it is imported, and it takes milliseconds."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import launcher
from launcher.engines.checkout import head, package_in, source_version
from launcher.engines.environment import Environment, environment_at
from launcher.engines.facts import EngineFacts
from launcher.errors import InputError

LAYER = "pdlaunch_cpu_layer"
"""The CPU engine's compatibility layer, as its environment holds it."""
_CUDA = re.compile(r"""^cuda\b[^=]*=\s*["']([^"']+)["']""", re.MULTILINE)


def describe(path: Path) -> EngineFacts:
    """What the environment or checkout at `path` is.

    A checkout is described with the environment in its ``.venv`` or ``venv``, where it has one.

    Raises:
        InputError: nothing is there, there is no Python in it, no SGLang, or only half of either.
    """
    try:
        return _describe(path.expanduser().absolute())
    except RuntimeError as error:  # what expanduser raises for the home of a user that there is not
        raise InputError(f"there is no {path}: {error}", hint="write the whole path") from error
    except OSError as error:
        raise InputError(f"cannot read {error.filename or path}: {error.strerror}", hint=f"ls -ld {path}") from error


def simulator() -> EngineFacts:
    """pdlaunch's own simulator, run by the interpreter that runs pdlaunch."""
    version = ".".join(map(str, sys.version_info[:3]))
    return EngineFacts(
        path=Path(sys.prefix),
        kind="simulator",
        version=launcher.__version__,
        package=Path(launcher.__file__).parent / "simulator",
        python=Path(sys.executable),
        python_version=version,
    )


def _describe(place: Path) -> EngineFacts:
    if not place.exists():
        raise InputError(f"there is no {place}", hint="name a virtual environment, or a checkout of SGLang")
    environment = environment_at(place)
    if environment is not None:
        return _in_environment(place, environment)
    package = package_in(place)
    if package is None:
        raise _neither(place)
    beside = next((found for name in (".venv", "venv") if (found := environment_at(place / name))), None)
    return _facts(place, package, source_version(package), beside, commit=head(package))


def _in_environment(place: Path, environment: Environment) -> EngineFacts:
    """Facts of an environment that serves; a package that was installed editable lies in its checkout."""
    installed = environment.version_of("sglang")
    project = environment.editable("sglang")
    package = package_in(project) if project else environment.find("sglang/__init__.py")
    if package is None and installed is None:
        raise InputError(f"no SGLang in {place}", hint=f"install it: {environment.python} -m pip install sglang")
    if package is None:
        where = f"in {project}, from where it was installed editable" if project else "beside its metadata"
        raise _half(place, f"SGLang {installed} is recorded, but its package is not {where}")
    folder = package if project else package.parent
    if installed is None:
        raise _half(place, f"{folder} is there, but nothing records which SGLang that is")
    if environment.version_of("torch") is None:
        raise _half(place, f"SGLang {installed} is there, but torch is not")
    return _facts(place, folder, installed, environment, commit=head(folder) if project else None)


def _facts(
    place: Path, package: Path, version: str, environment: Environment | None, *, commit: str | None
) -> EngineFacts:
    if environment is None:
        return EngineFacts(path=place, kind="sglang", version=version, package=package, commit=commit)
    return EngineFacts(
        path=place,
        kind="cpu" if environment.find(LAYER) else "sglang",
        version=version,
        package=package,
        commit=commit,
        python=environment.python,
        python_version=environment.version,
        torch=environment.version_of("torch"),
        cuda=_cuda(environment),
        # `nixl` is a front; where only a wheel for one generation of CUDA is installed, that one counts.
        nixl=environment.version_of("nixl", "nixl-cu13", "nixl-cu12"),
        router=environment.version_of("sglang-router"),
        distributions={name: found.version for name, found in environment.distributions.items()},
    )


def _cuda(environment: Environment) -> str | None:
    """The CUDA version that torch's build wrote down."""
    record = environment.find("torch/version.py")
    match = _CUDA.search(record.read_text(errors="replace")) if record else None
    return match[1] if match else None


def _half(place: Path, what: str) -> InputError:
    return InputError(f"{place} is half an environment: {what}", hint="install SGLang into it again, or name another")


def _neither(place: Path) -> InputError:
    if place.is_file() and place.parent.name == "bin":
        return InputError(f"{place} is a program, not an environment", hint=f"name its environment: {place.parents[1]}")
    if place.name == "bin":
        return InputError(f"{place} is inside an environment", hint=f"name the environment: {place.parent}")
    if place.name == "sglang" and (place / "__init__.py").is_file():
        return InputError(f"{place} is the package itself", hint=f"name the folder around it: {place.parent}")
    return InputError(
        f"neither Python nor SGLang in {place}: an environment has bin/python, a checkout has python/sglang",
        hint="name a virtual environment, or a checkout of SGLang",
    )
