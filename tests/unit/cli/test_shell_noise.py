from __future__ import annotations

from launcher.cli.shell_noise import in_a_line, is_noise
from launcher.compare import Difference, Side, differences
from launcher.compare.side import UnknownTree
from launcher.plan.model import Origin, Variable

from ..compare.making import plan, service

ADOPTED = Origin(kind="adopted")


def found(*names: str, both: bool = False, origin: Origin = ADOPTED) -> list[Difference]:
    """What differs from a decode that was started in a shell to one of pdlaunch's."""
    before = service("decode-0")
    old = before.model_copy(update={"env": tuple(Variable(name=n, value="x", origin=origin) for n in names)})
    new = [Variable(name=n, value="y", origin=origin) for n in names] if both else []
    after = before.model_copy(update={"env": tuple(new)})
    return list(differences(Side("1", plan(old), UnknownTree(None)), Side("2", plan(after), UnknownTree(None))).found)


def test_what_a_shell_had_left_is_one_line() -> None:
    noise = [d for d in found("LS_COLORS", "TERM", "INVOCATION_ID", "XDG_SESSION_ID", "NCCL_DEBUG") if is_noise(d)]
    assert sorted(d.change.name for d in noise) == ["INVOCATION_ID", "LS_COLORS", "TERM", "XDG_SESSION_ID"]
    assert in_a_line(noise).startswith("4 variables of the shell or unit that started it: ")
    assert in_a_line(noise).endswith(" and 1 more")
    assert in_a_line(noise[:1]).startswith("1 variable of the shell")


def test_what_somebody_wrote_or_changed_is_told() -> None:
    assert not any(is_noise(d) for d in found("TERM", origin=Origin(kind="profile", file="p.yaml", line=3)))
    assert not any(is_noise(d) for d in found("TERM", both=True))
