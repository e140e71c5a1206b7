"""Run by the engine's own Python: which command lines its argument parser refuses, and in which words.

Reads a JSON list of command lines from the standard input; prints for each null, or the parser's error.
"""

import argparse
import contextlib
import importlib
import io
import json
import sys


def refused(parser: argparse.ArgumentParser, words: list[str]) -> str | None:
    """The parser's error; None where it takes the line."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            parser.parse_args(words)
    except SystemExit:
        return said.getvalue().rpartition("error: ")[2].strip()
    return None


if __name__ == "__main__":
    made = argparse.ArgumentParser()
    importlib.import_module("sglang.srt.server_args").ServerArgs.add_cli_args(made)
    for action in made._actions:
        action.required = False  # each line is about one flag
    sys.stdout.write(json.dumps([refused(made, words) for words in json.load(sys.stdin)]))
