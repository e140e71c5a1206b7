"""`diff` over generations, lock files and profiles: what is compared with what, who brought it, what it prints."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from launcher.cli.app import run
from launcher.engines.snapshot import snapshot
from launcher.errors import InputError
from launcher.lock import Read, intent_of, lock_of, to_yaml
from launcher.operations.blaming import Recalled
from launcher.operations.diffing import Diff, diff, diff_live, source_patch
from launcher.operations.drifting import drift
from launcher.operations.receipts import keep_receipt, take_receipt
from launcher.plan import Plan
from launcher.render.bundle import Bundle
from launcher.store import About, Generation, Store, give_name, layout

from ..compare.making import plan, service

PROFILE = "name: pd\nengine: {kind: simulator}\naggregated: {port: 31500}\n"


def made(*, ctas: str | None = None, keep_alive: str = "60", queue: str = "100", stop: float = 60.0) -> Plan:
    env = {"SGLANG_TIMEOUT_KEEP_ALIVE": keep_alive}
    return plan(
        service("prefill-0", env=env),
        service("decode-0", env=env | ({"SGLANG_SM120_MMA_TARGET_CTAS": ctas} if ctas else {})),
        service("router", args={"queue-size": queue}),
        stop=stop,
    )


class Deployment:
    """A store that generations are committed to, without anything being started."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(layout("pd"))
        self.store.layout.engines.mkdir(parents=True)
        self._source = folder / "fork"
        self._lines = {"conn.py": "one\n", "attention.py": "a\n"}

    def edit(self, **files: str) -> None:
        self._lines |= {f"{name}.py": text for name, text in files.items()}

    def commit(
        self, plan: Plan, *, by: str = "anna", why: str = "why", packages: Mapping[str, str] | None = None
    ) -> Generation:
        self._source.mkdir(exist_ok=True)
        for name, text in self._lines.items():
            (self._source / name).write_text(text)
        digest = snapshot({"sglang": self._source}, self.store.layout.engines).digest
        lock = None if packages is None else lambda about: self._lock(plan, packages, about)
        generation = self.store.commit(
            PROFILE.encode(), plan, Bundle({}), snapshot_digest=digest, by=by, why=why, source="pd.yaml", lock=lock
        )
        self.store.set_current(generation.number, by=by, why=why)
        return generation

    def _lock(self, plan: Plan, packages: Mapping[str, str], about: About) -> str:
        intent = intent_of(plan, None, Read(packages=packages))
        return to_yaml(lock_of(intent, plan, by=about.by, written=about.written.replace(microsecond=0)))


@pytest.fixture
def deployment(tmp_path: Path) -> Deployment:
    return Deployment(tmp_path)


def told(found: Diff) -> list[tuple[str, int | None]]:
    """Each change with the generation that brought it."""
    return [(str(d.change), b.number if (b := found.brought.get(d.change)) else None) for d in found.differences.found]


@pytest.fixture
def afternoon(deployment: Deployment) -> Deployment:
    """Six generations between noon and evening."""
    deployment.commit(made(), why="smaller chunk")
    deployment.commit(made(ctas="512"), by="assistant", why="+6 % short decode")
    deployment.edit(attention="edited\n")
    deployment.commit(made(ctas="512"), why="kernel edit")
    deployment.edit(attention="a\n")
    deployment.commit(made(ctas="512", keep_alive="120"), why="kernel edit back")
    deployment.edit(conn="one\ntwo\n")
    deployment.commit(made(ctas="512", keep_alive="120"), why="retries")
    deployment.commit(made(ctas="512", keep_alive="120", queue="256"), by="assistant", why="bursts")
    return deployment


def test_each_value_has_the_generation_that_brought_it(afternoon: Deployment) -> None:
    found = diff("1", None)
    changes = told(found)
    assert [c for c in changes if not c[0].startswith("source")] == [
        ("decode.env SGLANG_SM120_MMA_TARGET_CTAS  unset -> 512", 2),
        ("engine.env SGLANG_TIMEOUT_KEEP_ALIVE  60 -> 120", 4),
        ("router.args queue-size  100 -> 256", 6),
    ]
    (source,) = (c for c in changes if c[0].startswith("source"))
    assert (source[0].split()[1], source[1]) == ("sglang/conn.py", 5)
    assert found.touched == ("sglang/attention.py",), "edited in 3, taken back in 4"
    assert next(b.why for b in found.brought.values()) == "+6 % short decode"


def started(store: Store, number: int, driver: str) -> None:
    """Its receipt, as if it had been started under that driver."""
    receipt = take_receipt(store.generation(number), store, by="anna", ask_driver=False)
    machine = receipt.machine.model_copy(update={"driver": driver})
    keep_receipt(receipt.model_copy(update={"machine": machine}), store)


def test_a_driver_came_with_the_first_start_under_it(afternoon: Deployment) -> None:
    """Each start keeps what it stood on; the third never started, and nobody is blamed for what it does not say."""
    for number, driver in ((1, "595.71"), (2, "595.71"), (4, "600.1"), (5, "600.1"), (6, "600.1")):
        started(afternoon.store, number, driver)
    ((change, by),) = [c for c in told(diff("1", "6")) if c[0].startswith("receipt")]
    assert (change, by) == ("receipt driver  595.71 -> 600.1", 4)
    assert not [c for c in told(diff("5", "6")) if c[0].startswith("receipt")]


def test_the_way_back_has_the_same_changes_and_the_same_blame(afternoon: Deployment) -> None:
    there, back = diff("1", "6"), diff("6", "1")
    assert [d.change.mirrored() for d in there.differences.found] == [d.change for d in back.differences.found]
    assert sorted(b.number for b in there.brought.values()) == sorted(b.number for b in back.brought.values())
    assert back.touched == there.touched


def test_left_out_sides_are_the_current_generation_and_the_one_before(afternoon: Deployment) -> None:
    found = diff(None, None)
    numbers = [given.generation.number for given in (found.before, found.after) if given.generation]
    assert numbers == [5, 6]
    afternoon.store.set_current(4, by="anna")
    found = diff(None, None)
    assert (found.before.side.label, found.after.side.label) == ("6", "4")


def test_names_and_times_are_generations(afternoon: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    give_name(afternoon.store, "noon", 1, by="anna", why=None)
    assert diff("noon", "-1").before.side.label == "noon (1)"
    assert run(["diff", "noon", "0s"]) == 3
    printed = capsys.readouterr()
    assert printed.out.startswith("noon (1) (today")
    assert "->  0s (6) (today" in printed.out
    assert re.match(r"0s is .*, when 6 served\nhint: ", printed.err)


def test_packages_come_from_the_lock_of_each_generation(deployment: Deployment) -> None:
    deployment.commit(made(), packages={"torch": "2.9", "zlib": "1"})
    deployment.commit(made(), packages={"torch": "2.9.1", "zlib": "1"}, why="upgrade")
    deployment.commit(made(queue="1"), packages={"torch": "2.9.1", "zlib": "1"})
    found = diff("1", "3")
    assert told(found) == [("package torch  2.9 -> 2.9.1", 2), ("router.args queue-size  100 -> 1", 3)]
    assert "packages" not in found.differences.unknown


def test_a_generation_without_a_lock_has_no_packages_to_compare(deployment: Deployment) -> None:
    deployment.commit(made())
    deployment.commit(made(), packages={"torch": "2.9.1"})
    found = diff("1", "2")
    assert found.differences.equal
    assert "packages" in found.differences.unknown


def test_a_lock_file_is_a_side(deployment: Deployment, tmp_path: Path) -> None:
    deployment.commit(made(), packages={"torch": "2.9"})
    path = tmp_path / "pd.lock.yaml"
    lock = deployment.store.generation(1).lock
    assert lock is not None
    path.write_text(to_yaml(lock))
    deployment.commit(made(queue="7"), packages={"torch": "2.9"})
    found = diff(str(path), "2")
    assert [c for c, _ in told(found)] == ["router.args queue-size  100 -> 7"]
    assert (found.before.side.label, found.brought) == (str(path), {})
    assert diff(str(path), str(path)).equal


@pytest.mark.parametrize(("head", "base"), [("9c1e77a00000ffff", "9c1e77a00000"), (None, "sglang 0.5.23")])
def test_locks_of_sources_that_are_elsewhere_name_the_edited_files(tmp_path: Path, head: str | None, base: str) -> None:
    written = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)
    paths = []
    for letter, edited in (("a", {}), ("b", {"sglang/srt/x.py": "1" * 64})):
        made_of = plan(service("decode-0"), snapshot=letter * 32)
        intent = intent_of(made_of, None, Read(head=head, edited=edited))
        paths.append(tmp_path / f"{letter}.lock.yaml")
        paths[-1].write_text(to_yaml(lock_of(intent, made_of, by="anna", written=written)))
    found = diff(str(paths[0]), str(paths[1]))
    assert [c for c, _ in told(found)] == [f"source sglang/srt/x.py  as in {base} -> {'1' * 12}"]
    with pytest.raises(InputError, match=r"the source of .*a\.lock\.yaml is not on this machine"):
        source_patch(found)


def test_a_profile_is_planned_now(deployment: Deployment, tmp_path: Path) -> None:
    path = tmp_path / "pd.yaml"
    path.write_text(PROFILE)
    other = tmp_path / "other.yaml"
    other.write_text(PROFILE.replace("31500}", "31500, env: {SGLANG_TIMEOUT_KEEP_ALIVE: 9}}"))
    found = diff(str(path), str(other))
    assert [c for c, _ in told(found)] == ["aggregated.env SGLANG_TIMEOUT_KEEP_ALIVE  unset -> 9"]
    (change,) = (d.change for d in found.differences.found)
    assert change.after is not None
    assert str(change.after.origin) == "other.yaml:3"
    assert diff(str(path), str(path)).equal


@pytest.mark.parametrize("word", ["7", "nonsense", "/not/there.yaml"])
def test_what_is_no_side_is_one_error(afternoon: Deployment, word: str) -> None:
    with pytest.raises(InputError) as error:
        diff(word, None)
    assert error.value.hint


def test_nothing_was_started_yet(deployment: Deployment) -> None:
    deployment.store.layout.generations.mkdir(parents=True)
    with pytest.raises(InputError, match="nothing was started yet"):
        diff(None, None)
    with pytest.raises(InputError, match="nothing was started yet"):
        diff_live(None)
    assert drift(deployment.store) == ()


def test_a_damaged_generation_between_two_others_is_passed_over(afternoon: Deployment) -> None:
    plan_json = afternoon.store.layout.generation(3) / "plan.json"
    plan_json.chmod(0o644)
    plan_json.write_text("{")
    seal = afternoon.store.layout.generation(5) / "manifest.json"
    seal.chmod(0o644)
    seal.write_text("{")
    assert dict(told(diff("1", "6")))["decode.env SGLANG_SM120_MMA_TARGET_CTAS  unset -> 512"] == 2


def test_only_plans_that_differ_are_read(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(1, 31):
        deployment.commit(made(queue=str(1 + number // 10)))
    read: list[int] = []
    plain = Recalled._service

    def counted(self: Recalled, name: str) -> Any:
        known = len(self._memory.settings)
        found = plain(self, name)
        if len(self._memory.settings) > known:
            read.append(self.number)
        return found

    monkeypatch.setattr(Recalled, "_service", counted)
    assert told(diff("1", "30")) == [("router.args queue-size  1 -> 4", 30)]
    assert read == [30, 29]


def test_the_list_reads_as_it_should(afternoon: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "1"]) == 3
    printed = capsys.readouterr()
    assert printed.err == (
        "hint: pdlaunch diff 1 6 --source      the edits as a patch\nhint: pdlaunch rollback --to 1\n"
    )
    out = re.sub(r"today \d\d:\d\d", "today 20:00", printed.out)
    out = re.sub(r"(fork|sglang|router)\.yaml:\d+", r"\1.yaml:9", out)
    assert out == (
        '1 (today 20:00, anna, "smaller chunk")  ->  6 (today 20:00, assistant, "bursts", current): '
        "4 changes, riskiest first\n"
        "\n"
        " 1 decode.env SGLANG_SM120_MMA_TARGET_CTAS  unset -> 512\n"
        '     since 2, today 20:00, assistant, "+6 % short decode", p.yaml:7\n'
        "     known bad: decode hangs once the context has grown; short requests pass (safe: unset, fork.yaml:9)\n"
        "     How many thread blocks the SM120 decode attention kernel aims at when it splits a long context. More\n"
        "     blocks than fit on the card at once can wait for each other for ever; how many there are depends on the\n"
        "     context, so short requests prove nothing.\n"
        "     measured: 512 served short requests for hours and hung long ones; without the variable the same box\n"
        "     served (2026-12-01, 8x RTX PRO 6000)  this project: the incident of 2026-12-01\n"
        "     documented: no line of SGLang 0.5.23 reads the name  sglang 0.5.23, whole package\n"
        "     measured: a kernel whose blocks wait for each other hangs once the context asks for more of them than "
        "fit\n"
        "     on the card; in a full CUDA graph without a word (2026-07-02, GB10, 48 multiprocessors)\n"
        "     https://github.com/vllm-project/vllm/pull/41834\n"
        "     launch shape: how many blocks a kernel launches: knobs of this kind hang only when the context is long,\n"
        "     short requests pass\n"
        " 2 engine.env SGLANG_TIMEOUT_KEEP_ALIVE     60 -> 120\n"
        '     since 4, today 20:00, anna, "kernel edit back", p.yaml:7\n'
        "     safe: 5 or more s, sglang.yaml:9. Shorter than the client's or the router's pool keeps connections, the\n"
        "     next request meets a reset one.\n"
        "     time-outs: when somebody gives up: it hangs nothing by itself, it cuts off or hides what hangs\n"
        " 3 source sglang/conn.py                    +1 -0\n"
        '     since 5, today 20:00, anna, "retries"\n'
        "     engine: of no kind that is known for hanging\n"
        " 4 router.args queue-size                   100 -> 256\n"
        '     since 6, today 20:00, assistant, "bursts", p.yaml:7\n'
        "     safe: 1 or more, router.yaml:9. Full, it answers 503.\n"
        "     router: in front of the engine: it can refuse or delay requests, it cannot hang decode\n"
        "\n"
        "same content, touched since: sglang/attention.py\n"
        "unchanged: services, secrets, ports, GPUs, readiness and stopping\n"
        "not compared, for one side has no record of it: packages, machine and model, what the engine decides\n"
        "running: nothing\n"
    )


def test_a_broken_catalogue_of_the_site_hides_no_change(
    afternoon: Deployment, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "config" / "pdlaunch" / "knobs" / "x.yaml"
    broken.parent.mkdir(parents=True)
    broken.write_text("knobs: [")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert run(["diff", "1"]) == 3
    printed = capsys.readouterr().out
    assert "\n 1 decode.env SGLANG_SM120_MMA_TARGET_CTAS  unset -> 512\n" in printed
    assert "known bad" not in printed
    assert "nothing declared is told: the local knob catalogue: 1 error; pdlaunch knobs says what is wrong\n" in printed


def test_equal_sides_exit_with_0(afternoon: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "6", "6"]) == 0
    printed = capsys.readouterr()
    assert "no difference" in printed.out
    assert printed.err == ""


def test_the_edits_are_a_patch(afternoon: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "1", "6", "--source"]) == 3
    assert capsys.readouterr().out == "--- a/sglang/conn.py\n+++ b/sglang/conn.py\n@@ -1 +1,2 @@\n one\n+two\n"


def test_the_data_has_a_schema(afternoon: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "1", "--json"]) == 3
    data = json.loads(capsys.readouterr().out)
    assert (data["schema_version"], data["equal"], data["current"], data["live"]) == (1, False, 6, None)
    assert (data["from"]["generation"], data["to"]["generation"], data["to"]["by"]) == (1, 6, "assistant")
    first, *_ = data["differences"]
    assert first["before"] is None
    assert first["after"] == {"value": "512", "origin": {"kind": "profile", "file": "p.yaml", "line": 7, "note": None}}
    assert (first["services"], first["risk"]["name"], first["brought"]["generation"]) == (
        ["decode-0"],
        "launch shape",
        2,
    )


def test_another_version_of_the_engine_is_not_listed_file_by_file(
    deployment: Deployment, capsys: pytest.CaptureFixture[str]
) -> None:
    deployment.edit(**{f"f{n}": "1\n" for n in range(50)})
    deployment.commit(made())
    deployment.edit(**{f"f{n}": "2\n" for n in range(50)})
    deployment.commit(made())
    assert run(["diff"]) == 3
    out = capsys.readouterr().out
    assert out.count("source sglang/") == 30
    assert "and 20 more of source; all of them: --json" in out
    run(["diff", "--json"])
    assert len(json.loads(capsys.readouterr().out)["differences"]) == 50


def test_live_takes_one_side(afternoon: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["diff", "1", "6", "--live"]) == 2
    assert "hint: pdlaunch diff 1 --live" in capsys.readouterr().err


def test_nothing_runs(afternoon: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    assert drift(afternoon.store) == tuple(
        f"{name}  generation 6 has it" for name in ("prefill-0", "decode-0", "router")
    )
    assert run(["diff", "--live"]) == 3
    assert "not running" in capsys.readouterr().out
