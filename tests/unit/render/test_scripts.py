"""Serve scripts, run: whatever the values and whoever calls, the process receives exactly the plan's."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from launcher.errors import InputError
from launcher.plan.model import Argument, EngineUse, Origin, Plan, Secret, Service, Variable
from launcher.profile.model import Ready, Restart, Stop
from launcher.render import Layout, RenderedFile
from launcher.render.scripts import RESERVED, serve_script

WRITTEN = Origin(kind="profile", file="tiny.yaml", line=3)
TELL = '/bin/cat "/proc/$$/cmdline" >"$0.cmdline"; /bin/cat "/proc/$$/environ" >"$0.environ"'
"""What the stand-in does with its last breath: dash changes neither its arguments nor its environment."""

NASTY = [
    "",
    "plain",
    " ",
    "-n",
    "--flag=value",
    "=",
    "a=b",
    "it's",
    '"quoted"',
    "$(touch hacked)",
    "`touch hacked`",
    "${HOME}",
    "$HOME",
    "\\",
    "\\n",
    "\\'",
    "trailing\\",
    "%s %% %(here)s",
    "two\nlines",
    "ends in newline\n",
    "\n",
    "\t\r\x1b[31m\x7f\x01",
    "'\n'",
    "\\\n'",
    "# no comment",
    "; exit 3",
    "a && b || c > d < e",
    "*",
    "~",
    "{a,b}",
    "!!",
    "(",
    ")",
    "é ü 漢字 🙂 \u2028 \u00a0",
    "{{ jinja }} {% raw %}",
    "x" * 5000,
]
POLLUTED = {
    "BASH_FUNC_env%%": "() { echo hacked; }",
    "BASH_FUNC_python%%": "() { echo hacked; }",
    "BASH_FUNC_[%%": "() { return 0; }",
    "BASH_FUNC_module%%": "() { eval x; }",
    "IFS": "/=",
    "PS4": "$(echo hacked >&2)",
    "SHELLOPTS": "braceexpand:hashall:xtrace",
    "BASHOPTS": "nullglob:failglob",
    "CDPATH": "/tmp",
    "GLOBIGNORE": "*",
    "LD_LIBRARY_PATH": "/nowhere",
    "PYTHONPATH": "/nowhere",
    "SGLANG_SM120_MMA_TARGET_CTAS": "512",
    "LC_ALL": "nonsense",
    "PATH": "/usr/bin:/bin",
}

hostile = st.one_of(
    st.sampled_from(NASTY), st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
)
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,20}", fullmatch=True).filter(lambda name: name not in RESERVED)


def layout(folder: Path) -> Layout:
    return Layout(deployment="tiny", state=folder / "state", cache=folder / "cache", run=folder / "run")


def service(
    words: Iterable[str], env: Mapping[str, str], secrets: Mapping[str, str] | None = None, origin: Origin = WRITTEN
) -> Service:
    return Service(
        name="decode-0",
        role="decode",
        argv=tuple(Argument(words=(word,), origin=origin) for word in words),
        env=tuple(Variable(name=name, value=value, origin=origin) for name, value in env.items()),
        secrets=tuple(Secret(name=name, file=file, origin=origin) for name, file in (secrets or {}).items()),
        host="127.0.0.1",
        ports={"http": 31000},
    )


def plan(of: Service) -> Plan:
    return Plan(
        deployment="tiny",
        model_path="/models/tiny",
        model_name="tiny",
        engine=EngineUse(kind="simulator", version="1"),
        transfer="nixl",
        services=(of,),
        chunk=8192,
        context=None,
        ready=Ready(),
        stop=Stop(),
        restart=Restart(),
        backend="supervisord",
    )


def rendered(of: Service, folder: Path) -> RenderedFile:
    return serve_script(plan(of), of, layout(folder))


def written(of: Service, folder: Path) -> Path:
    file = rendered(of, folder)
    path = folder / "decode-0.sh"
    path.unlink(missing_ok=True)
    path.write_text(file.text, encoding="utf-8")
    path.chmod(file.mode)
    return path


def received(
    script: Path, out: Path, by: tuple[str, ...], polluted: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """What the stand-in got when `script` was started `by` a caller with that environment."""
    command = [*by, str(script)]
    done = subprocess.run(command, env=dict(polluted), cwd=out.parent, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr
    cmdline = Path(f"{out}.cmdline").read_bytes().decode().split("\0")[:-1]
    environ = Path(f"{out}.environ").read_bytes().decode().split("\0")[:-1]
    return cmdline, dict(text.split("=", 1) for text in environ)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(hostile, max_size=40), env=st.dictionaries(names, hostile, min_size=1, max_size=40))
@example(words=NASTY, env={f"V{number}": value for number, value in enumerate(NASTY)})
def test_argv_and_environment_arrive_unchanged(tmp_path: Path, words: list[str], env: dict[str, str]) -> None:
    out = tmp_path / "out"
    argv = ["/bin/sh", "-c", TELL, str(out), *words]
    script = written(service(argv, env), tmp_path)
    callers = ((), POLLUTED), (("/bin/bash",), POLLUTED | {"BASH_ENV": str(_evil(tmp_path))}), (("/bin/sh",), POLLUTED)
    for by, polluted in callers:
        cmdline, environ = received(script, out, by, polluted)
        assert cmdline == argv
        assert {name: value for name, value in environ.items() if env.get(name) != value} == {}
        assert env.keys() == environ.keys()
    assert not (tmp_path / "hacked").exists()


def _evil(folder: Path) -> Path:
    path = folder / "evil.sh"
    path.write_text("export EVIL=1; alias exec=echo; set -f; umask 0\n")
    return path


BASH_OWN = tuple(
    name
    for line in (
        "BASH BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND BASH_COMPAT BASH_ENV",
        "BASH_EXECUTION_STRING BASH_LINENO BASH_LOADABLES_PATH BASH_REMATCH BASH_SOURCE BASH_SUBSHELL BASH_VERSINFO",
        "BASH_VERSION BASH_XTRACEFD CHILD_MAX COLUMNS COMP_CWORD COMP_LINE COMP_POINT COMP_TYPE COMP_KEY",
        "COMP_WORDBREAKS COMP_WORDS COPROC DIRSTACK EPOCHREALTIME EPOCHSECONDS ENV EUID EXECIGNORE FCEDIT FIGNORE",
        "FUNCNAME FUNCNEST GLOBIGNORE GROUPS histchars HISTCMD HISTCONTROL HISTFILE HISTFILESIZE HISTIGNORE HISTSIZE",
        "HISTTIMEFORMAT HOME HOSTFILE HOSTNAME HOSTTYPE IFS IGNOREEOF INPUTRC INSIDE_EMACS LANG LC_ALL LC_COLLATE",
        "LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME LINENO LINES MACHTYPE MAIL MAILCHECK MAILPATH MAPFILE OLDPWD OPTARG",
        "OPTERR OPTIND OSTYPE PATH PIPESTATUS POSIXLY_CORRECT PPID PROMPT_COMMAND PROMPT_DIRTRIM PS0 PS1 PS2 PS3 PS4",
        "PWD RANDOM READLINE_ARGUMENT READLINE_LINE READLINE_MARK READLINE_POINT REPLY SECONDS SHELL SHELLOPTS SHLVL",
        "SRANDOM TIMEFORMAT TMOUT TMPDIR TZ UID auto_resume _",
    )
    for name in line.split()
)
"""Every variable that bash's manual gives a meaning, of bash 5.2."""


@pytest.mark.parametrize("value", ["7", "no number"])
def test_a_name_with_a_meaning_to_bash_arrives_or_is_refused(tmp_path: Path, value: str) -> None:
    """Where bash would change the value, a plan that sets the name must not be rendered."""
    out = tmp_path / "out"
    argv = ["/bin/sh", "-c", TELL, str(out)]
    bad = []
    for name in (name for name in BASH_OWN if name not in RESERVED):
        script = written(service(argv, {name: value}), tmp_path)
        subprocess.run([str(script)], capture_output=True, timeout=60, check=False)
        told = Path(f"{out}.environ")
        environ = told.read_bytes().decode().split("\0")[:-1] if told.exists() else None
        told.unlink(missing_ok=True)
        if environ != [f"{name}={value}"]:
            bad.append((name, environ))
    assert not bad, str(bad)


LATE = [*sorted(RESERVED - {"PWD"}), "BASH_FUNC_module%%", "a.b", "-x", "1"]
"""Names that bash itself would change or cannot hold."""


def test_names_that_bash_owns_arrive_all_the_same(tmp_path: Path) -> None:
    out = tmp_path / "out"
    variables = {name: "7" if name == "OPTIND" else f"of {name}; $HOME" for name in LATE}  # dash reads that number
    ran = subprocess.run(
        [str(written(service(["/bin/sh", "-c", TELL, str(out)], variables), tmp_path))],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    environ = Path(f"{out}.environ").read_bytes().decode().split("\0")[:-1]
    assert sorted(environ) == sorted(f"{name}={value}" for name, value in variables.items())


def test_pwd_is_where_the_service_starts(tmp_path: Path) -> None:
    folder = tmp_path / "it's here; $HOME"
    folder.mkdir()
    made = service(["/bin/sh", "-c", "/bin/pwd -P; echo $PWD"], {"PWD": str(folder)})
    ran = subprocess.run([str(written(made, tmp_path))], capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout.splitlines() == [str(folder), str(folder)]


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_names_that_bash_owns_are_not_read_from_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"decode-0: {name} cannot be read from a file: the shell owns that name"):
        rendered(service(["/bin/true"], {}, {name: "/etc/secret"}), tmp_path)


@pytest.mark.parametrize("flag", ["--api-key", "--api-key="])
def test_a_flag_gets_its_value_from_a_file_in_its_place(tmp_path: Path, flag: str) -> None:
    file = tmp_path / "the key"
    file.write_text("s3cret $HOME  x")
    plain = service(["/bin/sh", "-c", 'printf "%s\\n" "$@"', "sh"], {}, {"--api-key": str(file)})
    argv = (*plain.argv, Argument(words=(flag,), origin=WRITTEN), Argument(words=("--port", "1"), origin=WRITTEN))
    made = plain.model_copy(update={"argv": argv})
    assert "s3cret" not in rendered(made, tmp_path).text
    ran = subprocess.run([str(written(made, tmp_path))], capture_output=True, text=True, timeout=60, check=False)
    value = ["--api-key=s3cret $HOME  x"] if flag.endswith("=") else ["--api-key", "s3cret $HOME  x"]
    assert ran.stdout.splitlines() == [*value, "--port", "1"]
    file.unlink()
    ran = subprocess.run([str(written(made, tmp_path))], capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode != 0, ran.stdout) == (True, "")


def test_nul_is_refused(tmp_path: Path) -> None:
    for made in (service(["/bin/true", "a\0b"], {}), service(["/bin/true"], {"A": "a\0b"})):
        with pytest.raises(InputError, match="decode-0: a NUL byte cannot be part of an argument or of a variable"):
            rendered(made, tmp_path)


def test_a_program_whose_path_env_would_take_for_a_variable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the program's path must not contain '=': /opt/a=b/python"):
        rendered(service(["/opt/a=b/python"], {}), tmp_path)


def test_the_same_plan_gives_the_same_bytes_and_one_value_a_line(tmp_path: Path) -> None:
    made = service(["/bin/true", *NASTY], {f"V{n}": value for n, value in enumerate(NASTY)}, {"TOKEN": "/etc/a b"})
    once = rendered(made, tmp_path)
    assert rendered(made.model_copy(), tmp_path) == once
    assert once.mode == 0o555
    lines = once.text.splitlines()
    assert len([line for line in lines if line.endswith("  # tiny.yaml:3")]) == 2 * len(NASTY) + 2
    assert lines[0] == "#!/usr/bin/env -S -i /bin/bash"
    assert f"service {made.digest()[:8]}" in lines[1]


def test_what_stands_in_comments_cannot_leave_them(tmp_path: Path) -> None:
    out = tmp_path / "out"
    argv = ["/bin/sh", "-c", TELL, str(out)]
    origin = Origin(kind="profile", file="a\nexit 3\n#.yaml", line=1, note="x\rexit 4\n")
    script = written(service(argv, {"A": "1"}, origin=origin), tmp_path)
    assert received(script, out, (), {}) == (argv, {"A": "1"})


def test_a_value_below_a_root_becomes_a_path_of_this_machine(tmp_path: Path) -> None:
    out = tmp_path / "out"
    argv = ["/bin/sh", "-c", TELL, str(out)]
    roots = {
        "A": Variable(name="A", value="engine/1f", origin=WRITTEN, root="state"),
        "B": Variable(name="B", value="jit it", origin=WRITTEN, root="cache"),
        "C": Variable(name="C", value="x.sock", origin=WRITTEN, root="run"),
    }
    made = service(argv, {}).model_copy(update={"env": tuple(roots.values())})
    paths = {"A": tmp_path / "state/engine/1f", "B": tmp_path / "cache/jit it", "C": tmp_path / "run/x.sock"}
    assert received(written(made, tmp_path), out, (), {})[1] == {name: str(path) for name, path in paths.items()}


class TestSecrets:
    SECRET = "s3cr3t $(id) `id` 'x' \"y\" \\ %s \u00e9\n second line"

    def secret(self, tmp_path: Path) -> Path:
        path = tmp_path / "a file's name $x"
        path.write_text(self.SECRET + "\n")
        path.chmod(0o600)
        return path

    def test_the_value_arrives_and_stands_nowhere_else(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        argv = ["/bin/sh", "-c", TELL, str(out)]
        made = service(argv, {"A": "1"}, {"HF_TOKEN": str(self.secret(tmp_path))})
        script = written(made, tmp_path)
        assert "s3cr3t" not in script.read_text()
        seen: set[str] = set()
        watching = threading.Event()
        watcher = threading.Thread(target=self.watch, args=(watching, seen))
        watcher.start()
        for _ in range(20):
            assert received(script, out, (), {}) == (argv, {"A": "1", "HF_TOKEN": self.SECRET})
        watching.set()
        watcher.join()
        assert any(str(script) in line for line in seen)
        assert [line for line in seen if "s3cr3t" in line] == []

    @staticmethod
    def watch(enough: threading.Event, seen: set[str]) -> None:
        while not enough.is_set():
            for process in Path("/proc").iterdir():
                try:
                    seen.add((process / "cmdline").read_text(errors="replace"))
                except OSError:
                    continue

    def test_a_secret_beats_a_variable_of_its_name_never(self, tmp_path: Path) -> None:
        """The names are apart by the profile's own rule; the script says which wins all the same: the variable."""
        out = tmp_path / "out"
        argv = ["/bin/sh", "-c", TELL, str(out)]
        script = written(service(argv, {"A": "plain"}, {"A": str(self.secret(tmp_path))}), tmp_path)
        assert received(script, out, (), {})[1] == {"A": "plain"}

    def test_without_the_file_nothing_starts(self, tmp_path: Path) -> None:
        out = tmp_path / "out"
        argv = ["/bin/sh", "-c", TELL, str(out)]
        script = written(service(argv, {}, {"HF_TOKEN": "/nowhere/token"}), tmp_path)
        done = subprocess.run([str(script)], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode != 0
        assert "/nowhere/token: No such file or directory" in done.stderr
        assert not Path(f"{out}.environ").exists()
