#!/usr/bin/env bash
# From nothing to an answer: real SGLang, one prefill and one decode server with KV over NIXL, behind sglang-router,
# on a machine without a GPU. Leaves the deployment running. Safe to repeat: what is done is found done.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

deploy/install.sh
pdlaunch=.venv/bin/pdlaunch
$pdlaunch engine install cpu
$pdlaunch up profiles/cpu-tiny.yaml -m "first try"

url=$($pdlaunch status -d cpu-tiny --json | .venv/bin/python -c 'import json, sys; print(json.load(sys.stdin)["router"]["url"])')
.venv/bin/python examples/ask.py "$url" "What is a prefill?"

cat >&2 <<END

That came token by token from the decode server; its weights are random, so it means nothing.
  look   $pdlaunch status -d cpu-tiny;  $pdlaunch logs -d cpu-tiny -f
  ask    .venv/bin/python examples/ask.py $url "..."
  stop   $pdlaunch down -d cpu-tiny
END
