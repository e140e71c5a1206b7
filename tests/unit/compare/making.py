"""Plans, sides and trees to compare, and hypothesis strategies for them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from hypothesis import strategies as st

from launcher.compare import Side
from launcher.engines.manifest import Entry, Manifest
from launcher.plan.model import Argument, EngineUse, Origin, Plan, RoleName, Service, Variable
from launcher.profile.model import Ready, Restart, Stop

WRITTEN = Origin(kind="profile", file="p.yaml", line=7)
ROLES: Mapping[str, RoleName] = {
    "prefill-0": "prefill",
    "prefill-1": "prefill",
    "decode-0": "decode",
    "router": "router",
}


def service(
    name: str,
    *,
    args: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    gpus: tuple[int, ...] = (),
    port: int = 31000,
) -> Service:
    flags = tuple(Argument(words=(f"--{flag}", value), origin=WRITTEN) for flag, value in (args or {}).items())
    return Service(
        name=name,
        role=ROLES[name],
        argv=(Argument(words=("/v/bin/python", "-m", "sglang.launch_server"), origin=WRITTEN), *flags),
        env=tuple(Variable(name=key, value=value, origin=WRITTEN) for key, value in (env or {}).items()),
        gpus=gpus,
        host="127.0.0.1",
        ports={"http": port},
    ).sealed()


def plan(*services: Service, stop: float = 60.0, snapshot: str | None = None) -> Plan:
    return Plan(
        deployment="pd",
        model_path="/m",
        model_name="m",
        engine=EngineUse(kind="sglang", version="0.5.23", snapshot=snapshot),
        transfer="nixl",
        services=services,
        chunk=8192,
        context=None,
        ready=Ready(),
        stop=Stop(drain=stop),
        restart=Restart(),
        backend="supervisord",
    )


class TextTree:
    """A source tree made of texts."""

    edited = None

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._contents = dict(files)
        entries = {n: Entry(hashlib.sha256(c).hexdigest(), len(c), 0o444) for n, c in sorted(files.items())}
        self._manifest = Manifest(entries)

    @property
    def digest(self) -> str | None:
        return self._manifest.digest

    @property
    def record(self) -> bytes | None:
        return self._manifest.to_json().encode()

    def read(self, name: str) -> bytes | None:
        return self._contents.get(name)


def side(
    *services: Service,
    label: str = "1",
    files: Mapping[str, bytes] | None = None,
    packages: Mapping[str, str] | None = None,
    stop: float = 60.0,
) -> Side:
    tree = TextTree(files or {})
    return Side(label, plan(*services, stop=stop, snapshot=tree.digest), tree, packages=packages)


_VALUES = st.sampled_from(["1", "2", "512", "a b"])
_FLAGS = st.dictionaries(st.sampled_from(["page-size", "chunked-prefill-size", "log-level"]), _VALUES)
_ENV = st.dictionaries(st.sampled_from(["UCX_TLS", "SGLANG_X_CTAS", "SGLANG_TIMEOUT_KEEP_ALIVE", "HOME"]), _VALUES)
_LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"", b"c"]), max_size=6).map(b"".join)
_FILES = st.dictionaries(st.sampled_from(["srt/attention/a.py", "srt/disaggregation/b.py", "c.py"]), _LINES)
_PACKAGES = st.none() | st.dictionaries(st.sampled_from(["torch", "nixl", "zlib"]), _VALUES)


def _services(draw: st.DrawFn) -> list[Service]:
    names = draw(st.lists(st.sampled_from(sorted(ROLES)), min_size=1, unique=True))
    return [
        service(
            name,
            args=draw(_FLAGS),
            env=draw(_ENV),
            gpus=draw(st.sampled_from([(), (0,), (0, 1)])),
            port=draw(st.sampled_from([31000, 31010])),
        )
        for name in names
    ]


@st.composite
def sides(draw: st.DrawFn) -> Side:
    """Any side."""
    return side(*_services(draw), files=draw(_FILES), packages=draw(_PACKAGES), stop=draw(st.sampled_from([60.0, 1.5])))
