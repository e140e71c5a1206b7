"""What other YAML readers would make of an unquoted word.

YAML 1.1 reads ``no`` as false, ``1:30`` as 90 and ``0755`` as 493; YAML 1.2 reads some of them otherwise. Where the
readers disagree a person may have meant either, so such words are refused with what they would have become.
The forms are those of https://yaml.org/type/ and of the core schema of YAML 1.2.2.
"""

from __future__ import annotations

import re

_TRUE = {"true", "yes", "on", "y"}
_FALSE = {"false", "no", "off", "n"}
_NULL = {"", "null", "Null", "NULL"}
_LONGEST_NUMBER = 80
_DATE = re.compile(r"\d{4}-\d\d?-\d\d?([Tt ].*)?")
_SIXTY = re.compile(r"([-+]?)(\d[\d_]*(?::[0-5]?\d)+)(\.\d*)?")
_BASES = (
    (re.compile(r"[-+]?0x_*[0-9a-fA-F][0-9a-fA-F_]*"), 16),
    (re.compile(r"[-+]?0b_*[01][01_]*"), 2),
    (re.compile(r"[-+]?0[o_]?[0-7][0-7_]*"), 8),  # 0755 in 1.1, 0o755 in 1.2
    (re.compile(r"[-+]?0[0-9_]*[0-9]"), 10),  # 08: text in 1.1, the number 8 in 1.2
)
_UNDERSCORED = re.compile(r"[-+]?\d[\d_]*_[\d_]*(\.[\d_]*)?|[-+]?\d+\.[\d_]*_[\d_]*")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


def becomes(word: str) -> str | None:
    """What YAML 1.1 would make of the unquoted `word`; None where every reader agrees.

    The words ``true``, ``false`` and ``~`` and decimal numbers have one meaning and give None.
    """
    if word in {"true", "false", "~"} or len(word) > _LONGEST_NUMBER:
        return None
    if word.lower() in _TRUE | _FALSE and word in {word.lower(), word.upper(), word.capitalize()}:
        return "true" if word.lower() in _TRUE else "false"
    if word in _NULL:
        return "nothing"
    if _DATE.fullmatch(word):
        return "a date"
    return _number(word)


def _number(word: str) -> str | None:
    bare = word.replace("_", "")
    if match := _SIXTY.fullmatch(word):
        total = 0
        for part in match[2].replace("_", "").split(":"):
            total = total * 60 + int(part)
        return f"{match[1]}{total}{match[3] or ''}"
    for form, base in _BASES:
        if form.fullmatch(word):
            return str(int(bare, base))
    if _UNDERSCORED.fullmatch(word):
        return bare
    return "a number that is not finite" if _NOT_FINITE.fullmatch(word) else None
