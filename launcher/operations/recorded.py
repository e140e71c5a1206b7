"""The records beside a generation, flattened into names and values that can be compared, and read only if needed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from launcher.compare import Edited, Section
from launcher.errors import PdlaunchError
from launcher.render import Layout
from launcher.store import Generation
from launcher.store.generation import LOCK, PROFILE

if TYPE_CHECKING:  # YAML and its models are loaded only for who reads them
    from launcher.lock import Intent
    from launcher.lock.observed import Observed, ObservedService
    from launcher.lock.receipt import ModelFile, Receipt
    from launcher.profile import Loaded

RECEIPT, OBSERVED = "receipt.yaml", "observed.yaml"
_GIB = 1 << 30
PER_START = frozenset({"PROMETHEUS_MULTIPROC_DIR", "SGLANG_RUN_ID"})
"""Variables that SGLang gives another value at each start (0.5.23: a temporary folder, a name made of the time)."""
_PACKAGES = re.compile(r'^  packages:\n    count: \d+\n    digest: "?([0-9a-f]{64})', re.MULTILINE)
_PER_START = re.compile(r"^(?:    (?:pid|started): |boot: ).*\n", re.MULTILINE)
"""Lines of what was observed that differ at each start and say nothing of the configuration."""


def packages(generation: Generation) -> Section[str] | None:
    """Distribution to version, as the generation's lock has it; None for one without a lock."""
    found = _PACKAGES.search(text) if (text := _text_of(generation)) is not None else None
    return Section(found[1], lambda: _lock(generation).engine.packages.versions) if found else None


def edited(intent: Intent) -> Edited | None:
    """What of the engine's source a lock says to be edited."""
    source = intent.engine.source
    if source.edited is None:
        return None
    return Edited(source.head[:12] if source.head else f"{intent.engine.kind} {intent.engine.version}", source.edited)


def edited_in(generation: Generation) -> Edited | None:
    """The same of a generation; None for one without a lock."""
    return edited(generation.lock.intent) if generation.lock else None


def profile(generation: Generation) -> Loaded | None:
    """The profile as it was when the generation was made, for what it declares itself; None where it declares nothing.

    One that this version cannot read declares nothing: what was recorded is compared all the same.
    """
    with contextlib.suppress(PdlaunchError):
        if b"knobs:" in generation.profile:
            from launcher.profile import examine

            loaded = examine(generation.path / PROFILE).loaded
            return replace(loaded, path=Path(Path(generation.about.source or PROFILE).name))
    return None


def declared_in(generation: Generation) -> Callable[[str], Loaded | None]:
    """Gives the profile for a name that it may declare itself; a name that stands nowhere in it costs nothing."""
    read = cache(lambda: profile(generation))

    def of(name: str) -> Loaded | None:
        with contextlib.suppress(PdlaunchError):
            return read() if name.encode() in generation.profile.partition(b"knobs:")[2] else None
        return None

    return of


def bundle(generation: Generation) -> Section[str] | None:
    """Rendered file to digest, as the generation's lock has it; None for one without a lock."""
    digest = _digest(text, "bundle") if (text := _text_of(generation)) is not None else None
    return Section(digest, lambda: _lock(generation).bundle) if digest else None


def _text_of(generation: Generation) -> str | None:
    return (generation.path / LOCK).read_text(encoding="utf-8") if LOCK in generation.seal.files else None


def _lock(generation: Generation) -> Intent:
    lock = generation.lock
    if lock is None:
        raise PdlaunchError(f"generation {generation.number} has lost its lock")
    return lock.intent


def machine(layout: Layout, number: int) -> Section[str] | None:
    """What the last start of generation `number` stood on; None for one that never started."""
    path = _folder(layout, number) / RECEIPT
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    return Section(f"{_digest(text, 'machine')} {_digest(text, 'model')}", lambda: machine_of(_receipt(text, path)))


def fingerprints(layout: Layout, number: int) -> Mapping[str, str | None]:
    """The fingerprints of the secrets of its last start; none for one that never started."""
    path = _folder(layout, number) / RECEIPT
    if not path.is_file():
        return {}
    text = path.read_text(encoding="utf-8")
    return Section(str(_digest(text, "secrets")), lambda: _receipt(text, path).secrets)


def decided(layout: Layout, number: int) -> Section[Mapping[str, str]] | None:
    """What each engine made of the last start by itself; None for one that never started."""
    path = _folder(layout, number) / OBSERVED
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    services = text[text.find("\nboot: ") : text.rfind("\nabout:")]
    digest = hashlib.sha256(_PER_START.sub("", services).encode()).hexdigest()
    return Section(digest, lambda: decided_of(_observed(text, path)))


def _folder(layout: Layout, number: int) -> Path:
    return layout.state / "receipts" / str(number)


def _digest(text: str, section: str) -> str | None:
    """The digest of a section that stands at the head of a lock or record."""
    found = re.search(rf'^  {section}: "?([0-9a-f]{{64}})', text, re.MULTILINE)
    return found[1] if found else None


def _receipt(text: str, path: Path) -> Receipt:
    from launcher.lock.receipt import Receipt

    return Receipt.from_yaml(text, path)


def _observed(text: str, path: Path) -> Observed:
    from launcher.lock.observed import Observed

    return Observed.from_yaml(text, path)


def machine_of(receipt: Receipt) -> Mapping[str, str]:
    """What a start stood on, by name: ``driver``, ``gpu 4``, ``setting vm.swappiness``, ``model config.json``."""
    machine = receipt.machine
    plain = {
        "machine": machine.name,
        "kernel": machine.kernel,
        "driver": machine.driver,
        "cpu": machine.cpu,
        "cpus": machine.cpus,
        "NUMA nodes": machine.numa_nodes,
        "memory": f"{machine.memory / _GIB:.0f} GiB",  # the last megabytes differ at each boot
        "shared memory": f"{machine.shared_memory / _GIB:.1f} GiB" if machine.shared_memory is not None else None,
    }
    return {
        **{name: str(value) for name, value in plain.items() if value is not None},
        **{f"gpu {gpu.index}": " ".join(filter(None, (gpu.uuid, gpu.model, gpu.pci))) for gpu in machine.gpus},
        **{f"setting {name}": value for name, value in machine.settings.items()},
        **{f"limit {name}": value for name, value in machine.limits.items()},
        **{f"model {name}": _file(file) for name, file in receipt.model.files.items()},
    }


def _file(file: ModelFile) -> str:
    if file.sha256:
        return file.sha256[:12]
    return f"{file.size} bytes, inode {file.inode}, {file.mtime_ns}"


def decided_of(observed: Observed) -> Mapping[str, Mapping[str, str]]:
    """What each engine made of its start by itself, by service and name."""
    return {name: _decided(service) for name, service in observed.services.items() if service.answered}


def _decided(service: ObservedService) -> Mapping[str, str]:
    return {
        **{name: _text(value.gets) for name, value in service.resolved.items()},
        **{name: _text(value) for name, value in service.decided.items()},
        **{f"env {name}": ", ".join(values) for name, values in service.environment.items() if name not in PER_START},
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
