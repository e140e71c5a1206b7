"""How a generation stands: what of it nobody calls safe, who waives that, and what came since it was known."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path

import pytest

from launcher.cli import standing_view
from launcher.operations.standing import Standing, standing
from launcher.plan import Argument, Origin, Plan
from launcher.profile import Waiver
from launcher.render.bundle import Bundle
from launcher.store import Generation, Store, give_name, layout

from ..compare.making import plan, service

NOON = "SGLANG_SM120_MMA_TARGET_CTAS"
CLAIM = "decode hangs once the context has grown; short requests pass"
OWN = "knobs:\n  OUR_OWN: {safe: [a], bad: {c: it fell over}}\n"
PROFILE = f"name: pd\nmodel: /m\nengine: {{}}\nprefill: {{gpus: 0}}\ndecode: {{gpus: 1}}\nrouter: {{port: 1}}\n{OWN}"


def waiver(what: str, until: dt.date = dt.date(2999, 1, 1)) -> Waiver:
    return Waiver(what=what, claim=CLAIM, why="+6 %", by="anna", until=until)


def made(env: Mapping[str, str], *waivers: Waiver) -> Plan:
    found = plan(service("prefill-0"), service("decode-0", env=env), service("router", args={"queue-size": "100"}))
    return found.model_copy(update={"allowed": waivers})


@pytest.fixture
def store() -> Store:
    store = Store(layout("pd"))
    store.layout.engines.mkdir(parents=True)
    return store


def commit(store: Store, plan: Plan) -> Generation:
    generation = store.commit(PROFILE.encode(), plan, Bundle({}), snapshot_digest=None, by="anna", source="/x/pd.yaml")
    store.set_current(generation.number, by="anna")
    return generation


def said(found: Standing) -> list[str]:
    return list(standing_view.lines(found))


def test_of_what_is_safe_there_is_nothing_to_say(store: Store) -> None:
    found = standing(store, commit(store, made({"SGLANG_TIMEOUT_KEEP_ALIVE": "120", "OUR_OWN": "a"})))
    assert (found, said(found)) == (Standing(), [])


def test_what_runs_outside_its_range_is_told_with_its_waiver_the_worst_first(store: Store) -> None:
    env = {"SGLANG_TIMEOUT_KEEP_ALIVE": "1", NOON: "512", "OUR_OWN": "b"}
    found = standing(store, commit(store, made(env, waiver(f"decode.env.{NOON}=512"), waiver("PD118"))))
    told = [(o.subject, o.value, o.outcome, bool(o.waiver)) for o in found.objections]
    assert told == [
        (f"decode.env {NOON}", "512", "bad", True),
        ("decode.env OUR_OWN", "b", "untested", False),
        ("decode.env SGLANG_TIMEOUT_KEEP_ALIVE", "1", "outside", False),
    ]
    assert said(found) == [
        f'  waived      decode.env {NOON}=512, "+6 %", until Tue 1 Jan 2999 by anna',
        f"              known bad: {CLAIM}",
        "  unsafe      decode.env OUR_OWN=b, not waived",
        "              nobody has said that this value is safe (safe: a)",
        "  unsafe      decode.env SGLANG_TIMEOUT_KEEP_ALIVE=1, not waived",
        "              outside its declared range (safe: 5 or more s); shorter than the client's or the router's pool "
        "keeps",
        "              connections, the next request meets a reset one",
        '  waived      PD118, "+6 %", until Tue 1 Jan 2999 by anna',
    ]


def test_a_waiver_that_is_over_says_so(store: Store) -> None:
    over = waiver(f"decode.env.{NOON}=512", dt.date(2026, 1, 2))
    found = standing(store, commit(store, made({NOON: "512"}, over)))
    assert "until Fri 2 Jan 2026, which is over, by anna" in said(found)[0]


def test_what_came_since_a_named_generation_is_counted(store: Store) -> None:
    commit(store, made({"SGLANG_TIMEOUT_KEEP_ALIVE": "60"}))
    give_name(store, "noon", 1, by="anna")
    now = commit(store, made({"SGLANG_TIMEOUT_KEEP_ALIVE": "120", NOON: "512"}))
    found = standing(store, now)
    assert found.since
    assert (found.since.generation, found.since.changes, found.since.alarms) == (1, 2, 1)
    assert said(found)[0] == "  since 1     2 changes, one outside its declared range      pdlaunch diff noon"
    assert standing(store, store.generation(1)).since is None


def test_a_broken_catalogue_of_the_site_hides_no_status(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    broken = tmp_path / "pdlaunch" / "knobs" / "x.yaml"
    broken.parent.mkdir(parents=True)
    broken.write_text("knobs: [")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    allowed = waiver(f"decode.env.{NOON}=512")
    assert standing(store, commit(store, made({NOON: "512"}, allowed))) == Standing(waivers=(allowed,))


def test_nobody_objects_to_what_pdlaunch_makes_of_another_key(store: Store) -> None:
    found = made({})
    router = found.services[-1]
    origin = Origin(kind="profile", file="pd.yaml", line=7, note="ready.within")
    startup = Argument(words=("--worker-startup-timeout-secs", "60"), origin=origin)
    router = router.model_copy(update={"argv": (*router.argv, startup)})
    found = found.model_copy(update={"services": (*found.services[:-1], router)})
    assert standing(store, commit(store, found)).objections == ()
