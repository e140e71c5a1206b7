#!/usr/bin/env bash
# The story of the README, really run: one variable and one hot edit since noon, found and taken back.
# On the simulator, behind the real router, in a folder of its own; prints what the README shows and leaves nothing.
# Needs `pdlaunch` (deploy/install.sh) and a router (pdlaunch engine install cpu).
set -euo pipefail
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
pdlaunch() { "${PDLAUNCH:-$checkout/.venv/bin/pdlaunch}" "$@" 2>>"$folder/progress.log"; }
folder=$(mktemp -d)
export PDLAUNCH_STATE_DIR=$folder/state PDLAUNCH_RUN_DIR=$folder/run
trap 'pdlaunch down -d agents --now >/dev/null || true; cat "$folder/progress.log" >&2; rm -rf "$folder"' EXIT

mkdir -p "$folder/fork/launcher"
cp "$checkout/launcher/__init__.py" "$folder/fork/launcher/"
cp -r "$checkout/launcher/simulator" "$folder/fork/launcher/"
cat >"$folder/agents.yaml" <<END
name: agents
engine: {kind: simulator, source: $folder/fork, args: {context-length: 131072, chunked-prefill-size: 4096}}
prefill: {port: ${PREFILL:-12010}, nccl_port: $((${PREFILL:-12010} + 1)), bootstrap_port: $((${PREFILL:-12010} + 2))}
decode: {port: $((${PREFILL:-12010} + 3)), nccl_port: $((${PREFILL:-12010} + 4))}
router: {port: $((${PREFILL:-12010} + 5)), metrics_port: $((${PREFILL:-12010} + 6))}
END
cd "$folder"

tell() { echo "\$ $*"; eval "$*" || echo "(exit $?)"; echo; }
tell pdlaunch up agents.yaml -m "'served agents all morning'"
tell pdlaunch name noon
tell "sed -i 's/^decode: {/&env: {SGLANG_SM120_MMA_TARGET_CTAS: 512}, /' agents.yaml"
tell "echo '# try' >> fork/launcher/simulator/tokens.py"
tell pdlaunch up agents.yaml -m "'+6 % short decode'"
tell pdlaunch diff noon
tell pdlaunch rollback --to noon --yes -m "'agents hang'"
tell pdlaunch diff noon --live
