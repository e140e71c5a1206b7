"""Ask a deployment for one chat completion and print the answer as it streams.

    python examples/ask.py http://127.0.0.1:30080 "What is a prefill?"

Needs nothing but Python. Exits with 1 where no token came.
"""

import json
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator

_TOKENS = 48


def deltas(url: str, question: str) -> Iterator[str]:
    """The pieces of the answer, as the server sends them: one event a line, ``[DONE]`` at the end."""
    body = {"model": _model(url), "stream": True, "max_tokens": _TOKENS, "temperature": 0}
    body["messages"] = [{"role": "user", "content": question}]
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as answer:
        for line in answer:
            event = line.decode().strip().removeprefix("data: ")
            if event and event != "[DONE]":
                for choice in json.loads(event)["choices"]:
                    yield choice["delta"].get("content") or ""


def _model(url: str) -> str:
    with urllib.request.urlopen(f"{url}/v1/models", timeout=30) as answer:
        return str(json.load(answer)["data"][0]["id"])


def printable(text: str) -> str:
    """Random weights say control characters, too; a terminal should not obey them."""
    return "".join(c if c.isprintable() or c == "\n" else "·" for c in text)


def main() -> int:
    if len(sys.argv) != 3:
        sys.stderr.write(f"usage: {sys.argv[0]} URL QUESTION\n")
        return 2
    pieces = 0
    try:
        for delta in deltas(sys.argv[1].rstrip("/"), sys.argv[2]):
            pieces += bool(delta)
            sys.stdout.write(printable(delta))
            sys.stdout.flush()
    except urllib.error.URLError as error:
        sys.stderr.write(f"error: {sys.argv[1]}: {error}\n")
        return 1
    sys.stdout.write("\n")
    sys.stderr.write(f"({pieces} pieces)\n")
    return 0 if pieces else 1


if __name__ == "__main__":
    sys.exit(main())
