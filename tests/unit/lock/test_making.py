from __future__ import annotations

from pathlib import Path

from launcher.lock import Read, bundle_digests, plan_of
from launcher.lock.difference import differences
from launcher.plan.model import DIGEST, Origin, Variable
from launcher.profile.model import Engine, Model, Profile
from launcher.render import Layout, render

from .making import HERE, PROFILE, READ, a_lock, a_plan, a_service, an_intent


def test_a_lock_gives_its_plan_back() -> None:
    plan = a_plan()
    assert plan_of(a_lock(plan)) == plan


def test_a_plan_that_was_not_sealed_is_sealed() -> None:
    bare = a_service().model_copy(update={"env": tuple(v for v in a_service().env if v.name != DIGEST)})
    assert plan_of(a_lock(a_plan(bare))) == a_plan(bare.sealed())


def test_the_bundle_is_the_same_wherever_it_is_rendered() -> None:
    plan = a_plan()
    moved = Origin(kind="profile", file="other.yaml", line=99)
    services = [
        s.model_copy(update={"env": tuple(v.model_copy(update={"origin": moved}) for v in s.env)})
        for s in plan.services
    ]
    assert bundle_digests(a_plan(*services)) == bundle_digests(plan)
    here = Layout(deployment="tiny", state=Path("/here/tiny"), cache=Path("/c"), run=Path("/r"))
    assert bundle_digests(plan).keys() == render(plan, here).digests().keys()


def test_the_bundle_differs_where_a_service_does() -> None:
    env = (*a_service().env, Variable(name="X", value="1", origin=HERE))
    before, after = bundle_digests(a_plan(a_service())), bundle_digests(a_plan(a_service(env=env)))
    assert [name for name in before if before[name] != after[name]] == ["decode-0.sh"]


def test_the_profile_counts_by_what_it_means() -> None:
    spelled_out = Profile(name="tiny", model=Model(name="tiny", revision="main"), engine=Engine(kind="cpu", env={}))
    assert an_intent(profile=spelled_out).profile == an_intent(profile=PROFILE).profile
    other = Profile(name="tiny", model=Model(name="tiny", revision="main"), engine=Engine(kind="cpu", user="x"))
    assert an_intent(profile=other).profile != an_intent(profile=PROFILE).profile
    assert an_intent(profile=None).profile is None


def test_differences_are_told_place_by_place() -> None:
    read = READ.model_copy(update={"head": "f" * 40, "packages": {"torch": "2.9.2"}, "edited": {}, "router": None})
    plan = a_plan(a_service("prefill-0"), a_service("decode-0", gpus=(6, 7)), a_service("router"), chunk=4096)
    assert [str(d) for d in differences(an_intent(), an_intent(plan, read=read))] == [
        "engine.source.head  9c1e77a09c1e -> ffffffffffff",
        "engine.source.edited.sglang/gone.py  none -> absent",
        "engine.source.edited.sglang/srt/server.py  abababababab -> absent",
        "engine.packages.versions.nixl  1.5.1 -> absent",
        "engine.packages.versions.torch  2.9.1 -> 2.9.2",
        "router.kind  sglang-router -> absent",
        "router.version  0.3.2 -> absent",
        "ready.chunk  8192 -> 4096",
        "router  absent -> none",
    ]


def test_equal_intents_do_not_differ() -> None:
    assert differences(an_intent(), an_intent()) == ()


def test_nothing_read_is_recorded_as_nothing() -> None:
    source = an_intent(read=Read()).engine.source
    assert (source.package, source.head, source.edited) == (None, None, None)


def test_a_changed_copy_has_digests_of_its_own() -> None:
    intent = an_intent()
    before = (intent.digest, intent.digests)
    copy = intent.model_copy(update={"bundle": {}})
    assert copy.digest != before[0]
    assert {name for name in copy.digests if copy.digests[name] != before[1][name]} == {"bundle"}
