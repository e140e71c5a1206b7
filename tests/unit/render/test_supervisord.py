"""supervisord's files, read back by supervisord's own parser."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from launcher.errors import InputError
from launcher.plan.model import Argument, EngineUse, Origin, Plan, Service
from launcher.profile.model import Ready, Restart, Stop
from launcher.render import Layout
from launcher.render import supervisord as rendering

OWN = Origin(kind="pdlaunch")
LAYOUT = Layout(deployment="d", state=Path("/state/d"), cache=Path("/cache"), run=Path("/run/pd/d"))

PROGRAMS = """\
; d: what supervisord runs. An edit here counts as drift: change the profile, then `pdlaunch up`.
; Each program is a group of its own: replacing one member of a group would stop the others.

[program:prefill-0]
command='%(here)s/../prefill-0.sh'
priority=1
; restarts.py starts and starts again: supervisord's own startretries bounds no crash that comes after startsecs.
autostart=false
autorestart=false
startsecs=0
startretries=0
; TERM to the main process only, to its group it would be a crash; pdlaunch ends the whole tree, this is the safety net.
stopsignal=TERM
stopasgroup=false
killasgroup=true
stopwaitsecs=91
redirect_stderr=true
stdout_logfile=/state/d/logs/prefill-0.log
stdout_logfile_maxbytes=50MB
stdout_logfile_backups=5
user=sglang

[eventlistener:restarts]
command=python3 -I '%(here)s/restarts.py' --state /state/d --tries 3 --within 1800
events=PROCESS_STATE_RUNNING,PROCESS_STATE_EXITED,PROCESS_STATE_FATAL
buffer_size=1000
priority=0
autostart=true
autorestart=true
startsecs=1
startretries=1000000
stdout_logfile=NONE
stderr_logfile=/state/d/logs/restarts.log
stderr_logfile_maxbytes=1MB
stderr_logfile_backups=2
"""

DAEMON = """\
; d: the daemon of this deployment, then its programs. Written by pdlaunch at each install.
; By hand: supervisord -c THIS_FILE starts what was asked to run, supervisorctl -c THIS_FILE talks to it.

[supervisord]
identifier=d
logfile=/state/d/logs/supervisord.log
logfile_maxbytes=10MB
logfile_backups=2
pidfile=/run/pd/d/supervisord.pid
umask=022
nocleanup=true
user=root

[unix_http_server]
file=/run/pd/d/supervisord.sock
chmod=0600

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

[supervisorctl]
serverurl=unix:///run/pd/d/supervisord.sock

"""


def plan(*names: str, deployment: str = "d", user: str | None = None) -> Plan:
    services = tuple(
        Service(
            name=n, role="prefill", argv=(Argument(words=("x",), origin=OWN),), env=(), host="", ports={}, user=user
        )
        for n in names
    )
    return Plan(
        deployment=deployment,
        model_path="/m",
        model_name="m",
        engine=EngineUse(kind="simulator", version="0"),
        transfer="nixl",
        services=services,
        chunk=1,
        context=None,
        ready=Ready(),
        stop=Stop(kill=90.2),
        restart=Restart(),
        backend="supervisord",
    )


def test_the_files() -> None:
    files = rendering.render(plan("prefill-0", user="sglang"), LAYOUT)
    assert files["supervisord/programs.conf"].text == PROGRAMS
    assert files["supervisord/programs.conf"].mode == 0o444
    assert files["supervisord/restarts.py"].mode == 0o555
    assert "PROCESS_STATE" in files["supervisord/restarts.py"].text


def test_the_daemons_part() -> None:
    text = rendering.daemon(LAYOUT, "[programs]\n", Path("/g/1/supervisord"), user="root")
    assert text == DAEMON + "[programs]\n"
    assert "user=" not in rendering.daemon(LAYOUT, "", Path("/g"), user=None)


def test_the_same_plan_gives_the_same_bytes_whatever_generation_it_becomes() -> None:
    assert rendering.render(plan("a", "b"), LAYOUT) == rendering.render(plan("a", "b"), LAYOUT)


paths = st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="/"), min_size=1, max_size=12).filter(
    lambda part: part not in (".", "..")
)
awkward = st.sampled_from(["100%", "%(here)s", "%%", "a ;b", "c #d", "it's", 'a"b', "a\\b", " x ", "[x]*?", "$HOME"])


@settings(deadline=None)
@given(st.lists(paths | awkward, min_size=1, max_size=3))
def test_whatever_the_folders_are_called_supervisord_understands(tmp_path_factory: Any, parts: list[str]) -> None:
    top = tmp_path_factory.mktemp("x")
    odd = top.joinpath(*parts)
    state, run = odd / "d", top / "run"
    layout = Layout(deployment="d", state=state, cache=top, run=run)
    for folder in (layout.logs, run):
        folder.mkdir(parents=True)
    here = layout.generation(37) / "supervisord"
    programs = rendering.render(plan("decode-0", "router"), layout)["supervisord/programs.conf"].text
    config = top / "supervisord.conf"
    config.write_text(rendering.daemon(layout, programs, here, user=None), encoding="utf-8")

    options = parsed(config)
    groups = {group.name: group.process_configs[0] for group in options.process_group_configs}
    assert list(groups) == ["restarts", "decode-0", "router"]
    assert shlex.split(groups["decode-0"].command) == [str(layout.generation(37) / "decode-0.sh")]
    assert groups["decode-0"].stdout_logfile == str(layout.log("decode-0"))
    assert shlex.split(groups["restarts"].command)[2:5] == [str(here / "restarts.py"), "--state", str(state)]
    assert groups["restarts"].stderr_logfile == str(layout.log("restarts"))
    assert options.logfile == str(layout.log("supervisord"))


@settings(deadline=None)
@given(st.lists(paths | awkward, min_size=1, max_size=2))
def test_whatever_the_run_folder_is_called(tmp_path_factory: Any, parts: list[str]) -> None:
    top = Path("/tmp")
    run = top.joinpath(*parts)
    assume(len(str(run).encode()) <= 80)
    layout = Layout(deployment="d", state=top, cache=top, run=run)
    text = rendering.daemon(layout, "", top, user=None)
    config = tmp_path_factory.mktemp("c") / "supervisord.conf"
    # Only what names the socket: supervisord wants the folder of the pid file to exist, and this one need not.
    config.write_text(text.replace("pidfile=", "; pidfile=").replace("logfile=", "; logfile="), encoding="utf-8")
    options = parsed(config)
    assert options.configroot.supervisord.server_configs[0]["file"] == str(rendering.socket(layout))
    assert options.configroot.supervisord.server_configs[0]["chmod"] == 0o600


@pytest.mark.parametrize("name", ["a b", "a:b", "a/b", "", "-a", "a\nb", "a]", "é", "%s"])
def test_a_name_that_supervisord_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="cannot run a program called"):
        rendering.render(plan(name), LAYOUT)


@pytest.mark.parametrize("bad", ["a\nb", "a\rb", "a\tb", "a\x00b", "a\x7fb"])
def test_a_control_character_is_refused(bad: str) -> None:
    with pytest.raises(InputError, match="control character"):
        rendering.render(plan("x", deployment=bad), LAYOUT)
    with pytest.raises(InputError, match="control character"):
        rendering.render(plan("x", user=bad), LAYOUT)
    with pytest.raises(InputError, match="control character"):
        rendering.daemon(LAYOUT, "%(here)s", Path(f"/{bad}"), user=None)


def test_a_path_that_is_no_utf8_is_refused() -> None:
    layout = LAYOUT.model_copy(update={"state": Path("/\udcff")})
    with pytest.raises(InputError, match="UTF-8"):
        rendering.render(plan("x"), layout)


def test_a_socket_that_is_too_long_is_refused_before_anything_is_written() -> None:
    fits = LAYOUT.model_copy(update={"run": Path("/" + "r" * (99 - len("//supervisord.sock")))})
    assert "supervisord.sock" in rendering.daemon(fits, "", Path("/g"), user=None)
    longer = LAYOUT.model_copy(update={"run": Path(f"{fits.run}r")})
    with pytest.raises(InputError, match="longer than 99 bytes"):
        rendering.daemon(longer, "", Path("/g"), user=None)


def parsed(config: Path) -> Any:
    """What supervisord makes of a configuration."""
    from supervisor.options import ServerOptions

    options = ServerOptions()
    options.realize(["-c", str(config)])
    return options
