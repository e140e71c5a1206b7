"""An engine without a model: speaks what SGLang's servers speak, shows faults on request, and says what it is.

`python -m launcher.simulator --model-path NAME [--disaggregation-mode prefill|decode] …` starts one server. The
package stands alone: standard library only, nothing else of `launcher`, so a copy of it runs wherever Python does.
"""

from .environ import KNOWN_ENV
from .flags import KNOWN_FLAGS, Flag
from .naming import NOTICE, SPEAKS, VERSION

__all__ = ["KNOWN_ENV", "KNOWN_FLAGS", "NOTICE", "SPEAKS", "VERSION", "Flag"]
