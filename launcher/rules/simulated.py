"""The simulator's flags in the form of an engine's, so that one check serves both."""

from __future__ import annotations

from launcher.knobs import EngineKnobs, EnvKnob, Flag
from launcher.simulator import KNOWN_ENV, KNOWN_FLAGS, VERSION

_TYPES = {"switch": "bool"}


def simulator_knobs() -> EngineKnobs:
    """What the simulator knows of flags and variables. Pure."""
    flags = {
        flag.name: Flag(
            name=flag.name,
            options=(flag.name, *flag.aliases),
            dest=flag.key,
            type=_TYPES.get(flag.type, flag.type),
            default=flag.default,
            choices=flag.choices or None,
            nargs=0 if flag.type == "switch" else None,
            action="store_true" if flag.type == "switch" else "store",
        )
        for flag in KNOWN_FLAGS.values()
    }
    env = {name: EnvKnob(name=name, kind="unknown") for name in KNOWN_ENV}
    # Not whole: it takes SGLang's other variables without reading them.
    return EngineKnobs(engine="simulator", version=VERSION, flags=flags, env=env, whole=False)
