"""A day of commands without a terminal, word for word: exit code, stdout, stderr."""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from launcher.operations.logs import logs
from launcher.store.served import Record, Served, write_record

from ...deployments import Deployment, until
from .conftest import Said, Shell

pytestmark = pytest.mark.real

Ask = Callable[..., str]


@pytest.fixture
def ask(agg: Deployment, shell: Shell) -> Ask:
    """Run a command line about `agg`; PROFILE stands for its file, in the words and in what is said."""

    def with_names(*words: str) -> str:
        profile, ports = str(agg.profile), agg.settings["aggregated"]
        said = shell(*(profile if word == "PROFILE" else word for word in words))
        return said.plain(PROFILE=profile, PORT=ports["port"], NCCL=ports["nccl_port"])

    return with_names


def test_the_first_day(ask: Ask) -> None:
    assert ask("check", "PROFILE") == "0\nok  6 settings\n---\n"
    nothing_yet = """\
0
agg, nothing was started yet

service  gpus  ports  restart
aggregated-0  -  PORT  nccl NCCL  starts
---

nothing was changed. Next: pdlaunch up PROFILE -m "why"
"""
    assert ask("plan", "PROFILE") == nothing_yet
    assert ask("up", "PROFILE", "--dry-run") == nothing_yet
    assert (
        ask("up", "PROFILE", "-m", "first")
        == """\
0
up  generation 1, http://127.0.0.1:PORT. Proven to 513 of 8,192 tokens. N s
---
TIME  checked  6 settings  N s
TIME  recorded  generation 1: aggregated-0 starts
TIME  aggregated-0 loaded  N s
TIME  token  513 in, 4 out, aggregated-0  N s
TIME  ready  1 started, 0 left alone  N s
"""
    )
    assert (
        ask("up", "PROFILE")
        == """\
0
unchanged  generation 1 runs exactly this, http://127.0.0.1:PORT
---
TIME  checked  6 settings  N s
"""
    )
    assert (
        ask("plan", "PROFILE")
        == """\
0
agg, against generation 1

service  gpus  ports  restart
aggregated-0  -  PORT  nccl NCCL  no

no change: generation 1 is exactly this

proven  to 513 tokens by probe (1)
---

nothing was changed. Next: pdlaunch up PROFILE -m "why"
"""
    )
    assert (
        ask("status")
        == """\
0
agg  ok  generation 1 since HH:MM (tester, "first")  http://127.0.0.1:PORT
  1 service, no restarts; 0 requests running
  proven to 513 of 8,192 tokens by probe; no drift, nothing waived
---
"""
    )
    assert (
        ask("history")
        == """\
0
gen  since  by  why  ran  requests  longest  hung  proven
1  HH:MM  tester  first  N s  ?  ?  ?  513  serves
---
"""
    )
    assert ask("down", "--dry-run") == "0\nwould stop agg: aggregated-0\n---\n"
    assert ask("restart", "--dry-run") == "0\nwould restart aggregated-0\n---\n"
    assert (
        ask("restart", "-m", "again")
        == """\
0
restarted  generation 1. Proven to 513 of 8,192 tokens. N s
---
TIME  stopped  aggregated-0  N s
TIME  aggregated-0 loaded  N s
TIME  token  513 in, 4 out, aggregated-0  N s
TIME  ready  1 started, 0 left alone  N s
"""
    )
    assert (
        ask("restart", "nobody")
        == """\
2
---
error: there is no service 'nobody' in agg; there are: aggregated-0
"""
    )
    assert ask("logs", "nobody") == ask("restart", "nobody")
    assert ask("down", "-m", "night") == "0\ndown  agg: aggregated-0 stopped; nothing is left. N s\n---\n"
    assert (
        ask("status")
        == """\
0
agg  stopped  generation 1 since HH:MM (tester, "again")
  stopped by tester: night

  service  state  pid  up  gpus  port  running  queued  restarts
  aggregated-0  stopped  -  -  -  PORT  -  -  0
---
hint: pdlaunch restart -d agg
"""
    )
    assert ask("down") == "0\ndown  agg: nothing was running\n---\n"


def test_a_change_and_the_way_back(agg: Deployment, ask: Ask) -> None:
    first = ask("up", "PROFILE", "-m", "first")
    assert first.startswith("0\nup  generation 1"), first
    agg.env(PDLAUNCH_SIM_TOKEN_MS="1")
    assert (
        ask("plan", "PROFILE")
        == """\
0
agg, against generation 1

service  gpus  ports  restart
aggregated-0  -  PORT  nccl NCCL  yes

change
  aggregated.env PDLAUNCH_SIM_TOKEN_MS  unset -> 1  agg.yaml:8

takes  about N s, as the last time
proven  nothing yet for this combination
---

nothing was changed. Next: pdlaunch up PROFILE -m "why"
"""
    )
    assert (
        ask("up", "PROFILE", "-m", "slower")
        == """\
0
up  generation 2, http://127.0.0.1:PORT. Proven to 513 of 8,192 tokens. N s
---
TIME  checked  7 settings  N s
TIME  recorded  generation 2: aggregated-0 restarts
TIME  stopped  aggregated-0  N s
TIME  aggregated-0 loaded  N s
TIME  token  513 in, 4 out, aggregated-0  N s
TIME  ready  1 started, 0 left alone  N s
"""
    )
    way = """\
to generation 1 (HH:MM, tester, "first")
  served  N s, nobody watched its traffic
  comes back  aggregated.env PDLAUNCH_SIM_TOKEN_MS  1 -> unset
  as it was  packages, machine and model
  cannot  nothing
  edits  stay in generation 2
  restarts  aggregated-0
  takes  about N s to load
"""
    assert ask("rollback", "--to", "1", "--dry-run") == f"0\n{way}---\n"
    assert (
        ask("rollback", "--to", "-1", "-d", "agg", "-m", "agents hang")
        == f"""\
2
---
{way}error: this needs a yes
hint: pdlaunch rollback --to -1 -d agg -m 'agents hang' --yes
"""
    )
    assert (
        ask("rollback", "--to", "-1", "-d", "agg", "-m", "agents hang", "--yes")
        == f"""\
0
back  generation 1. Proven to 513 of 8,192 tokens. N s
---
{way}TIME  stopped  aggregated-0  N s
TIME  aggregated-0 loaded  N s
TIME  token  513 in, 4 out, aggregated-0  N s
TIME  ready  1 started, 0 left alone  N s
"""
    )
    assert (
        ask("history")
        == """\
0
gen  since  by  why  ran  requests  longest  hung  proven
2  HH:MM  tester  slower  N s  ?  ?  ?  513
1  HH:MM  tester  first  N s  ?  ?  ?  513  serves
---
"""
    )
    assert (
        ask("rollback", "--to", "9", "--yes")
        == """\
2
---
error: agg has no generation 9: there are 1 to 2
hint: pdlaunch history -d agg
"""
    )


def test_what_readers_say_as_json(agg: Deployment, shell: Shell) -> None:
    port = agg.settings["aggregated"]["port"]
    url = f"http://127.0.0.1:{port}"

    def data(said: Said) -> dict[str, Any]:
        found = json.loads(said.out)
        assert found.pop("schema_version") == 1
        return dict(found)

    up = data(shell("up", str(agg.profile), "--json"))
    seconds = up.pop("seconds")
    assert isinstance(seconds, float)
    assert up == {
        "deployment": "agg",
        "generation": 1,
        "router": {"url": url},
        "changed": True,
        "restarted": ["aggregated-0"],
        "proven_tokens": 513,
        "confirm_until": None,
    }
    assert data(shell("up", str(agg.profile), "--json"))["changed"] is False
    status = data(shell("status", "--json"))
    assert {key: status[key] for key in ("deployment", "state", "generation", "router")} == {
        "deployment": "agg",
        "state": "ok",
        "generation": 1,
        "router": {"url": url},
    }
    (service,) = status["services"]
    assert (
        service.items()
        >= {
            "name": "aggregated-0",
            "role": "aggregated",
            "state": "ok",
            "pid": agg.pids["aggregated-0"],
            "gpus": [],
            "ports": {"http": port, "nccl": agg.settings["aggregated"]["nccl_port"]},
        }.items()
    )
    plan = data(shell("plan", str(agg.profile), "--json"))
    assert (plan["against"], plan["changes"], plan["problems"]) == (1, [], [])
    assert plan["move"] == {"stop": [], "start": [], "keep": ["aggregated-0"]}
    (row,) = data(shell("history", "--json"))["generations"]
    assert (row["generation"], row["by"], row["current"]) == (1, "tester", True)


def test_what_is_not_well_is_exit_1(agg: Deployment, shell: Shell) -> None:
    begun = agg.env(PDLAUNCH_SIM_FAULT="load:600s").start_up()
    until(lambda: "aggregated-0" in agg.procs())
    begun.send(signal.SIGKILL)
    begun.wait()
    said = shell("status")
    assert (said.code, said.out.splitlines()[0]) == (1, "agg  interrupted    generation 1")
    assert said.err == "hint: pdlaunch up PROFILE continues; pdlaunch down -d agg ends everything\n"


class TestLogs:
    def test_the_last_lines_each_with_its_service(self, agg: Deployment, shell: Shell) -> None:
        agg.up()
        lines = shell("logs", "aggregated", "-n", "3").out.splitlines()
        assert len(lines) == 3
        assert all(line.startswith("aggregated-0  [") for line in lines)
        assert shell("logs", "-n", "0").out == ""
        everything = shell("logs", "-n", "100000").out
        assert "The server is fired up and ready to roll!" in everything
        assert len(everything.splitlines()) == len(agg.log("aggregated-0").splitlines())

    def test_following_goes_over_a_rotation(self, agg: Deployment) -> None:
        agg.up()
        path = agg.store.layout.log("aggregated-0")
        found = (line for _, line in logs(agg.store, (), lines=1, follow=True) if "simulator]" not in line)
        with path.open("a") as log:
            log.write("first\n")
        assert next(found) == "first"
        with path.open("a") as log:
            log.write("last of the old file\n")
        path.rename(path.with_name(f"{path.name}.1"))
        path.write_text("first of the new file\nhalf a")
        assert [next(found), next(found)] == ["last of the old file", "first of the new file"]
        with path.open("a") as log:
            log.write(" line\n")
        assert next(found) == "half a line"


def test_what_the_way_back_needs(agg: Deployment, shell: Shell) -> None:
    agg.up()
    said = shell("verify")
    assert said == Said(
        0,
        "sound    agg, generation 1: all that the way back needs is here (files by size and time; --deep reads them)\n",
        "hint: pdlaunch name noon gives what runs a name to come back to\n",
    )
    assert shell("name", "noon").code == 0
    assert shell("verify", "noon", "--deep").out.startswith('sound    agg, generation 1 "noon": ')
    script = agg.store.generation(1).path / "aggregated-0.sh"
    script.chmod(0o644)
    script.write_text("#!/bin/sh\n")
    said = shell("verify", "-d", "agg")
    assert (said.code, said.err) == (3, "")
    assert said.out == (
        "missing  1: aggregated-0.sh was cut short or edited\n"
        "         fix: pdlaunch up PROFILE records it anew, as long as its source is as it was\n"
        'broken   agg, generation 1 "noon": 1 missing\n'
    )
    found = json.loads(shell("verify", "--json").out)
    assert (found["schema_version"], found["sound"], found["names"]) == (1, False, {"noon": 1})
    assert [f["kind"] for f in found["findings"]] == ["missing"]


def test_what_traffic_proves_is_said_wherever_a_generation_is_chosen(agg: Deployment, ask: Ask) -> None:
    agg.up(why="first")
    agg.env(PDLAUNCH_SIM_TOKEN_MS="1").up(why="slower")
    now = dt.datetime.now().astimezone().replace(microsecond=0)
    rows = {
        1: Served(since=now, until=now, seconds=5760.0, traffic=5760.0, requests=1204, longest=187_344),
        2: Served(since=now, until=now, seconds=60.0, traffic=9.0, requests=19, longest=4100, hangs=1, hung=now),
    }
    write_record(agg.store.layout, Record(generations=rows))
    assert (
        ask("history")
        == """\
0
gen  since  by  why  ran  requests  longest  hung  proven
2  HH:MM  tester  slower  N s  19  4,100  HH:MM  513  serves
1  HH:MM  tester  first  N s  1,204  187k  -  513  good
---
"""
    )
    assert (
        ask("status")
        == """\
0
agg  ok  generation 2 since HH:MM (tester, "slower")  http://127.0.0.1:PORT
  1 service, no restarts; 0 requests running
  proven to 513 by probe, to 4,100 by traffic, of 8,192 tokens; no drift, nothing waived
  since 1  1 change  pdlaunch diff good
---
"""
    )
    assert (
        ask("rollback", "--to", "good", "--dry-run")
        == """\
0
to generation 1 (HH:MM, tester, "first")
  served  1 h 36 min, 1,204 requests, longest 187k tokens, no hang
  comes back  aggregated.env PDLAUNCH_SIM_TOKEN_MS  1 -> unset
  as it was  packages, machine and model
  cannot  nothing
  edits  stay in generation 2
  restarts  aggregated-0
  takes  about N s to load
---
good is 1: 1 h 36 min, 1,204 requests, longest 187k tokens, no hang
"""
    )
    server = agg.service("aggregated-0").pid
    assert server is not None
    os.kill(server, signal.SIGKILL)
    until(lambda: agg.state != "ok", "it died")
    shown = ask("status").partition("restarts\n")[2].partition("\n\n")[2].partition("---")[0]
    assert (
        shown
        == """\
  proven  to 513 by probe, to 4,100 by traffic, of 8,192 tokens
  traffic  1 min, 19 requests, longest 4,100 tokens, hung HH:MM
  good  1: 1 h 36 min, 1,204 requests, longest 187k tokens, no hang
  since 1  1 change  pdlaunch diff good
"""
    )
