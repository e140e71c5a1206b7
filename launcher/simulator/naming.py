"""How a simulator names itself, in one place: nothing that it shows may pass for a model's answer."""

from typing import Final

SPEAKS: Final = "0.5.23"
"""The SGLang release whose interface is spoken."""

VERSION: Final = f"{SPEAKS}+simulator"
SERVER: Final = f"pdlaunch-simulator/{SPEAKS}"
NOTICE: Final = f"pdlaunch simulator: no model, no GPU; speaks what SGLang {SPEAKS} speaks"
