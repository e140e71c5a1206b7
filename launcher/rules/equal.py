"""PD101-PD109: what prefill and decode must be told alike.

SGLang compares some of these when a decode first meets a prefill, which is at the first request and not at the start;
others it does not compare at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from launcher.rules.rule import Hit, Rule
from launcher.rules.view import ServiceView, View, pair, service

_AT_FIRST_REQUEST = "the engine compares them at the first request and refuses it"
_META = "SGLang 0.5.23, disaggregation/common/conn.py"
_FIELDS = "SGLang 0.5.23, arg_groups/fields"


@dataclass(frozen=True, slots=True)
class Same:
    """A setting that both roles get with the same value; unset, the engine takes `default`."""

    code: str
    section: str
    name: str
    because: str
    source: str
    example: tuple[str, str]
    """Two values that differ."""
    default: str = "not set"

    def rule(self) -> Rule:
        """The rule that compares it."""
        one, other = self.example
        return Rule(
            code=self.code,
            title=f"{self.name} is the same on prefill and decode",
            source=self.source,
            check=self.differences,
            good=pair(self._told("prefill", one), self._told("decode", one)),
            bad=pair(self._told("prefill", one), self._told("decode", other)),
        )

    def differences(self, view: View) -> Iterator[Hit]:
        """The servers whose value is another than the first prefill's."""
        first = next(view.of("prefill"), None)
        for server in view.of("prefill", "decode") if first else ():
            has, wanted = self._value(server), self._value(first) if first else ""
            if has != wanted:
                error = f"{has} on {server.name}, {wanted} on prefill-0: {self.because}"
                given = has if wanted == self.default else wanted
                yield Hit(
                    server.name, self.section, self.name, error, f"{self.name}: {given}     under engine, for both"
                )

    def _value(self, server: ServiceView) -> str:
        value = getattr(server, self.section).get(self.name)
        if value is None or value is False:
            return self.default
        return "true" if value is True else value if isinstance(value, str) else " ".join(value)

    def _told(self, role: str, value: str) -> ServiceView:
        return service(role, **{self.section: {self.name: value}})


RULES = tuple(
    same.rule()
    for same in (
        Same(
            "PD101", "args", "context-length", "a request that one role admits, the other rejects",
            f"{_FIELDS}/model.py:110", ("262144", "131072"),
        ),
        Same(
            "PD102", "args", "kv-cache-dtype", _AT_FIRST_REQUEST,
            f"{_META}:1329", ("fp8_e4m3", "bfloat16"), default="auto",
        ),
        Same(
            "PD103", "args", "page-size", _AT_FIRST_REQUEST,
            f"{_META}:1319; https://github.com/sgl-project/sglang/pull/14474", ("64", "32"),
        ),
        Same(
            "PD104", "args", "dsv4-attn-backend", _AT_FIRST_REQUEST,
            f"{_META}:1346", ("flashmla", "auto"), default="auto",
        ),
        Same(
            "PD105", "env", "SGLANG_DSV4_KV_LAYOUT", _AT_FIRST_REQUEST,
            f"{_META}:1346", ("v4", "v4_1"), default="v4",
        ),
        Same(
            "PD106", "args", "disaggregation-decode-allocation-policy", "each role would wait for the other",
            f"{_FIELDS}/disagg.py:59", ("prefill_complete", "early"), default="early",
        ),
        Same(
            "PD107", "args", "disaggregation-enable-kv-checksum", "a sum is verified only where both sides compute it",
            f"{_FIELDS}/disagg.py:72", ("true", "false"), default="false",
        ),
        Same(
            "PD108", "args", "speculative-algorithm", "speculation on one role alone gave wrong answers, silently",
            "https://github.com/sgl-project/sglang/pull/17212", ("EAGLE", "DSPARK"),
        ),
        Same(
            "PD109", "args", "speculative-dspark-block-size", "the roles would lay the draft's state out differently",
            f"{_META}:1353; https://github.com/sgl-project/sglang/issues/33800", ("4", "6"),
        ),
    )
)  # fmt: skip
