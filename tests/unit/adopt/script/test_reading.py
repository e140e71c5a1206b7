"""Scripts read without running them, and compared with what bash itself makes of them."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from launcher.adopt.script import Command, ScriptError, read

START = "python -m sglang.launch_server"
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


def one(text: str, environ: dict[str, str] | None = None) -> Command:
    reading = read(text, "serve.sh", environ=environ)
    (command,) = reading.commands
    return command


def flags(text: str, environ: dict[str, str] | None = None) -> list[str]:
    return list(one(text, environ).words[3:])


@given(st.lists(TEXT, max_size=6))
@example(["a\nb", "", "'", "$x", "`id`", "~", "#"])
def test_quoted_words_come_back_as_they_were(words: list[str]) -> None:
    assert flags(f"{START} {shlex.join(words)}") == words


@given(st.dictionaries(st.from_regex(r"X[A-Z0-9_]{0,6}", fullmatch=True), TEXT, max_size=4))
def test_exported_and_prefixed_values_come_back_as_they_were(variables: dict[str, str]) -> None:
    exports = "".join(f"export {n}={shlex.quote(v)}\n" for n, v in variables.items())
    prefix = " ".join(f"{n}={shlex.quote(v)}" for n, v in variables.items())
    assert one(f"{exports}{START}").environ == variables
    assert one(f"{prefix} {START}").environ == variables


PIECES = (
    *("export A=1", "A=$B", 'B="x $A"', "args=(", ")", "args+=( a 'b c' )", START, '"${args[@]}"', "${A:-d e}"),
    *("\\\n", "\n", ";", "&", "&&", "||", "|", "if", "then", "fi", "for x in a", "do", "done", "{", "}", "(", "f()"),
    *("<<E", "E", "<", ">", "'", '"', "$(", "`", "${", "$((", "case", "esac", "[[", "]]", "# c", "env -i", "exec"),
    *("$'\\x41", "é", "\\", "#", "!", "unset A", "declare -x", "set -a", "cd", "${A[@]}", "nohup", "$@"),
)
SHELL = st.lists(st.sampled_from(PIECES), max_size=14)


@given(SHELL.map(" ".join) | TEXT)
def test_any_text_is_read_or_refused_with_its_line(text: str) -> None:
    try:
        reading = read(text, "serve.sh")
    except ScriptError as error:
        assert error.message.startswith("serve.sh:")  # noqa: PT017  either end is right
        return
    lines = text.count("\n") + 1
    assert all(1 <= note.line <= lines for note in reading.unread)
    assert all(1 <= command.line <= lines for command in reading.commands)


@pytest.mark.parametrize(
    "text",
    [
        'A=1; B="x $A y"\nexport B\n{S} "$B" $B "${{A}}z"',
        'X=\'a  b\'\n{S} $X "$X" pre$X"$X"post',
        'args=(--a 1\n  # why\n  \'--b c\')\nargs+=(--d)\n{S} "${{args[@]}}" ${{args[@]}} x"${{args[@]}}"y',
        '{S} --a \\\n  --b "c\\\nd" \'e\\\nf\' "g\\"h\\$i\\j"',
        '{S} ${{A:-default}} ${{A-x y}} "${{A:-x  y}}" ${{A:+no}} ${{A:=set}} $A',
        "export A=1 B=2; unset A; {S} ${{A:-none}} ${{B:+yes}}",
        'E=\n{S} $E "$E" ${{E:-colon}} ${{E-plain}}',
        "{S} $'a\\tb\\x41\\u00e9\\'' $\"hi\"",
        "A=1 B=$A\n{S} [$B]",
        "A=one; A+=two; {S} $A",
        "true && cd / && {S} --here",
        "{S} a#b '#c' # comment",
        '{S} {{literal}} a=b --x="$HOME"',
        "set -a; Q=7; set +a; {S} $Q",
        "declare -x D=4; typeset -x T=5; readonly R=6; {S} $D $T $R",
        "A=$'x\\ny'; {S} \"$A\" $A",
    ],
)
def test_words_are_those_of_bash(text: str) -> None:
    home = {"HOME": "/home/it", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    script = text.format(S="python -m sglang.launch_server")
    real = text.format(S="show")
    shown = subprocess.run(
        ["/bin/bash", "-c", 'show() { printf "%s\\0" "$@"; }\n' + real], capture_output=True, env=home, check=True
    )
    assert flags(script, home) == shown.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize(
    "text",
    [
        "export A=1 B='x y'; C=3; {S}",
        "A=1 B=2 {S}",
        "A=0; A=1 B=$A {S}",
        "A=0 B=${{A}}1; export A B; A=5 {S}",
        "export A=1; env -u A C=2 {S}",
        "export A=1; env -i B=2 C='3 4' {S}",
        "A=1; export A; B=2; export -n A; {S}",
        "export A=${{MISSING:-7}} B=${{HOME}}/x; exec {S}",
        "export A=1; unset A; export B; {S}",
        "set -a\nA=1\nset +a\nB=2\n{S}",
        "export A=1\nA=2\n{S}",
        "A=9 nohup env B=3 {S} > /dev/null 2>&1",
    ],
)
def test_the_environment_is_that_of_bash(text: str) -> None:
    home = {"HOME": "/home/it", "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    real = text.format(S="/usr/bin/env -0").replace("> /dev/null 2>&1", "")
    shown = subprocess.run(["/bin/bash", "-c", real], capture_output=True, env=home, check=True)
    pairs = dict(entry.split("=", 1) for entry in shown.stdout.decode().split("\0")[:-1])
    own = {n: v for n, v in pairs.items() if n not in ("PWD", "SHLVL", "_", "OLDPWD")}
    assert one(text.format(S=START), home).environ == own


def test_what_only_a_run_would_tell_is_named_with_its_line() -> None:
    text = (
        "#!/bin/bash\n"
        "source /opt/venv/bin/activate\n"
        'if [ -n "$DEBUG" ]; then\n'
        "  export DEBUGGING=1\n"
        "fi\n"
        "N=$(nproc)\n"
        "serve() {\n"
        "  echo no\n"
        "}\n"
        "eval $X\n"
        f'{START} --threads $N --port "$1" --host $WHERE $((1+2))\n'
        "for i in 1 2; do\n"
        f"  {START} --port $i\n"
        "done\n"
        "sudo -u x " + START + "\n"
    )
    reading = read(text, "serve.sh")
    assert [(u.line, u.text, u.why) for u in reading.unread] == [
        (2, "source /opt/venv/bin/activate", "another file, which may set variables"),
        (3, 'if [ -n "$DEBUG" ] ; then', "a condition"),
        (6, "$(nproc)", "a command's output"),
        (7, "serve()", "a function"),
        (10, "$X", "not set in the script; taken as empty"),
        (10, "eval", "a command that is made while it runs"),
        (11, "$N", "a variable whose value is not known"),
        (11, "$1", "an argument of the script"),
        (11, "$WHERE", "not set in the script; taken as empty"),
        (11, "$((1+2))", "a calculation"),
        (12, "for i in 1 2 ; do", "a loop"),
        (15, f"sudo -u x {START}", "sudo decides what the program receives"),
    ]
    assert [command.line for command in reading.commands] == [11]


def test_several_servers_of_one_script_each_with_what_it_has_by_then() -> None:
    text = f"export A=1\n{START} --port 1 > log 2>&1 &\nexport A=2\ncd /opt/x\n{START} --port 2 | tee log &\nwait\n"
    first, second = read(text, "serve.sh").commands
    assert (first.line, first.words[3:], first.environ, first.cwd) == (2, ("--port", "1"), {"A": "1"}, None)
    assert (second.line, second.words[3:], second.environ, second.cwd) == (5, ("--port", "2"), {"A": "2"}, "/opt/x")


def test_a_here_document_is_no_command() -> None:
    text = f"cat > x.yaml <<'EOF'\n{START} --port 9\nit's open\nEOF\n{START} --port 1\n"
    assert flags(text) == ["--port", "1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A=1\nB='open\n", "serve.sh:2: ' is never closed"),
        ('\n\necho "x', 'serve.sh:3: " is never closed'),
        ("A=$(date", "serve.sh:1: $( is never closed"),
        ("A=${B", "serve.sh:1: ${ is never closed"),
        ("A=`x", "serve.sh:1: ` is never closed"),
    ],
)
def test_what_bash_would_not_take_is_one_error_with_its_line(text: str, message: str) -> None:
    with pytest.raises(ScriptError) as caught:
        read(text, "serve.sh")
    assert caught.value.message == message
