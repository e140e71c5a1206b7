"""Digests over values: no order of keys, no white space, no machine enters them."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def of(value: Any) -> str:
    """SHA-256 over a value made of mappings, lists, text, numbers and None; keys count in no order."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()
