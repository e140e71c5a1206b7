"""DR301-DR305: driver, CUDA and the engine's wheels fit each other; programs are found and load."""

from __future__ import annotations

import re
from collections.abc import Iterator

from launcher.doctor.check import Check, with_a_plan, with_an_engine, with_cards, with_cards_that_answer
from launcher.doctor.facts import Facts, Ran
from launcher.doctor.finding import Finding
from launcher.observe.card import Cards

DRIVERS = {11: "450.80.02", 12: "525", 13: "580"}
"""CUDA's major version to the oldest Linux driver that runs its applications (minor version compatibility)."""
KIT = {
    "nvcc": "CUDA's compiler: add its folder to the profile's PATH, or install the toolkit in /usr/local/cuda",
    "ninja": "pip install ninja     into the engine's environment, or: sudo apt-get install ninja-build",
    "gcc": "sudo apt-get install build-essential",
    "g++": "sudo apt-get install build-essential",
    "numactl": "sudo apt-get install numactl     SGLang binds each scheduler to its socket with it",
    "nvidia-smi": "it comes with the driver; in a container: NVIDIA_DRIVER_CAPABILITIES=compute,utility",
}
"""What an empty environment must reach, and where it comes from."""
_COMPILES = ("nvcc", "ninja", "gcc", "g++")


def driver(facts: Facts) -> Iterator[Finding]:
    """The driver is new enough for the CUDA that torch was built for."""
    software, cards = facts.software, facts.cards
    if software is None or not isinstance(cards, Cards) or not cards.driver:
        return
    if software.cuda is None:
        text = f"torch {software.torch} in {software.path} was built without CUDA: it sees no card"
        yield Finding("blocker", "DR301", text, "install SGLang with its CUDA wheels into that environment")
        return
    major = int(software.cuda.split(".")[0])
    least = DRIVERS.get(major)
    if least and _parts(cards.driver) < _parts(least):
        text = f"driver {cards.driver} is too old for CUDA {software.cuda}, which torch {software.torch} was built for"
        yield Finding("blocker", "DR301", text, f"install driver {least} or newer, or a torch for CUDA {cards.cuda}")
    elif cards.cuda and _parts(cards.cuda) < _parts(software.cuda):
        text = f"driver {cards.driver} knows CUDA up to {cards.cuda}; torch is built for {software.cuda}"
        fix = "works within one major version, but kernels compiled as PTX do not load; a newer driver is safer"
        yield Finding("note", "DR301", text, fix)
    else:
        yield Finding("ok", "DR301", f"driver {cards.driver} runs CUDA {software.cuda} of torch {software.torch}")


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def wheels(facts: Facts) -> Iterator[Finding]:
    """NIXL and the compiler on PATH are of torch's CUDA."""
    software = facts.software
    if software is None or software.cuda is None:
        return
    major = software.cuda.split(".")[0]
    fine = True
    for name, version in software.nixl.items():
        if (match := re.fullmatch(r"nixl-cu(\d+)", name)) and match[1] != major:
            fine = False
            text = (
                f"{name} {version} stands beside torch for CUDA {software.cuda}: UCX may take GPU memory for the host's"
            )
            python = f"{software.path}/bin/python"
            yield Finding("warning", "DR302", text, f"{python} -m pip install --no-deps nixl-cu{major}=={version}")
    if strays := sorted(name for name in software.wheels if not name.endswith(f"-cu{major}")):
        fine = False
        more = f" and {len(strays) - 1} more" if strays[1:] else ""
        text = (
            f"{strays[0]}{more} stand beside torch for CUDA {software.cuda}: the wrong copy of a library may be loaded"
        )
        yield Finding("warning", "DR302", text, f"{software.path}/bin/python -m pip uninstall {' '.join(strays[:4])}")
    if facts.toolkit and facts.toolkit.split(".")[0] != major:
        fine = False
        text = (
            f"nvcc is of CUDA {facts.toolkit}, torch of {software.cuda}: kernels that are compiled at the start differ"
        )
        yield Finding("warning", "DR302", text, f"put nvcc of CUDA {major} in front of the services' PATH")
    if fine:
        yield Finding("ok", "DR302", f"NIXL and compiler fit CUDA {software.cuda}")


def kit(facts: Facts) -> Iterator[Finding]:
    """The services' PATH, which is all they have, reaches what compiles kernels at the first start."""
    if facts.tools is None:
        return
    absent = [name for name, path in facts.tools.items() if path is None]
    for name in absent:
        needed = name in _COMPILES
        warm = needed and facts.kernels
        what = (
            "kernels cannot be compiled: the first start fails after minutes" if needed else "the services run without"
        )
        kept = "; kernels of earlier starts are kept" if warm else ""
        text = f"{name} is not on the services' PATH: {what}{kept}"
        yield Finding("blocker" if needed and not warm else "warning", "DR303", text, KIT.get(name))
    if not absent:
        yield Finding("ok", "DR303", f"on the services' PATH: {', '.join(facts.tools)}")


def engine(facts: Facts) -> Iterator[Finding]:
    """The engine's own Python imports it."""
    if facts.imported:
        yield _ran(facts.imported, "DR304", "the engine", "run that by hand: the whole traceback names the package")


def router(facts: Facts) -> Iterator[Finding]:
    """The router starts."""
    if facts.router:
        yield _ran(
            facts.router, "DR305", "the router", "pip install sglang-router     into the environment that runs it"
        )


def _ran(ran: Ran, code: str, what: str, fix: str) -> Finding:
    if ran.ok:
        return Finding("ok", code, f"{what} loads: {ran.said} ({ran.seconds:.1f} s)")
    return Finding("blocker", code, f"{what} does not load: {ran.said}", f"{ran.command}     {fix}")


def _imported(facts: Facts) -> str | None:
    return with_an_engine(facts) or (None if facts.imported else "it takes up to a minute; ask with --deep")


def _routed(facts: Facts) -> str | None:
    if reason := with_a_plan(facts):
        return reason
    return None if facts.router else "the profile has no router"


def _with_software(facts: Facts) -> str | None:
    if reason := with_a_plan(facts) or with_cards_that_answer(facts):
        return reason
    return None if facts.software else "the engine's environment is not on this machine"


CHECKS = (
    Check(
        "DR301",
        "the driver runs the CUDA that torch was built for",
        "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
        driver,
        _with_software,
        before_up=True,
    ),
    Check(
        "DR302",
        "NIXL's and NVIDIA's wheels and nvcc are of torch's CUDA",
        "https://github.com/ai-dynamo/nixl/issues/1628",
        wheels,
        _with_software,
    ),
    Check(
        "DR303",
        "the services' PATH reaches nvcc, ninja, gcc and numactl",
        "services start from an empty environment; flashinfer and SGLang compile kernels at the first start",
        kit,
        lambda facts: with_a_plan(facts) or with_cards(facts),
        before_up=True,
    ),
    Check(
        "DR304", "the engine can be imported", "measured: 35 s for SGLang 0.5.23 on two busy cores", engine, _imported
    ),
    Check("DR305", "the router loads and tells its version", "sglang-router 0.3.2: its compiled part", router, _routed),
)
