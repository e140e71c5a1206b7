from __future__ import annotations

import pytest

from launcher.plan.model import Argument, Origin, Plan, Service
from launcher.store import plan_digest, service_digests

from .making import a_plan, a_service

ELSEWHERE = Origin(kind="profile", file="moved.yaml", line=99, note="a comment moved")


def reordered(service: Service) -> Service:
    head, *flags = service.argv
    return service.model_copy(update={"argv": (head, *reversed(flags)), "env": tuple(reversed(service.env))})


@pytest.mark.parametrize(
    "same",
    [
        a_plan(*(a_service(name, origin=ELSEWHERE) for name in ("prefill-0", "decode-0", "router"))),
        a_plan(*(reordered(a_service(name)) for name in ("prefill-0", "decode-0", "router"))),
        a_plan(notes=("a port was assigned",)),
        a_plan(source="/somewhere/else"),
    ],
)
def test_what_restarts_nothing(same: Plan) -> None:
    assert service_digests(same, "abc") == service_digests(a_plan(), "abc")
    assert plan_digest(same, "abc") == plan_digest(a_plan(), "abc")


def test_a_flag_restarts_its_service_alone() -> None:
    plan = a_plan(a_service("prefill-0", chunk=2048), a_service("decode-0"), a_service("router"))
    changed = service_digests(plan, None).items() - service_digests(a_plan(), None).items()
    assert [name for name, _ in changed] == ["prefill-0"]
    assert plan_digest(plan, None) != plan_digest(a_plan(), None)


def test_the_engine_restarts_all_but_the_router() -> None:
    changed = service_digests(a_plan(), "abc").items() - service_digests(a_plan(), "def").items()
    assert sorted(name for name, _ in changed) == ["decode-0", "prefill-0"]


def test_what_no_service_sees_is_still_a_difference() -> None:
    assert service_digests(a_plan(drain=1.0), None) == service_digests(a_plan(), None)
    assert plan_digest(a_plan(drain=1.0), None) != plan_digest(a_plan(), None)


def test_words_that_only_look_alike_differ() -> None:
    service = a_service("decode-0")
    head, first, *rest = service.argv
    joined = Argument(words=(" ".join(first.words),), origin=first.origin)
    other = service.model_copy(update={"argv": (head, joined, *rest)})
    assert service_digests(a_plan(other), None) != service_digests(a_plan(service), None)
