#!/usr/bin/env bash
# The story of the README, really run: one variable and one hot edit since noon, found and taken back.
# On the simulator, behind the real router, in a folder of its own; prints what the README shows and leaves nothing.
# Needs `pdlaunch` (deploy/install.sh) and a router (pdlaunch engine install cpu).
set -euo pipefail
checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
run() { "${PDLAUNCH:-$checkout/.venv/bin/pdlaunch}" "$@"; }
pdlaunch() { if [[ ${aloud:-} ]]; then run "$@" 2>&1; else run "$@" 2>>"$folder/progress.log"; fi; }
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
knobs:
  SGLANG_SM120_MMA_TARGET_CTAS: {safe: unset, bad: {512: hangs once the context has grown}}
END
cd "$folder"

tell() { echo "\$ $*"; eval "$*" || echo "(exit $?)"; echo; }
tell pdlaunch up agents.yaml -m "'served agents all morning'"
tell pdlaunch name noon
tell "sed -i 's/^decode: {/&env: {SGLANG_SM120_MMA_TARGET_CTAS: 512}, /' agents.yaml"
aloud=yes tell pdlaunch check agents.yaml
cat >allow <<END
allow:
  - what: decode.env.SGLANG_SM120_MMA_TARGET_CTAS=512
    claim: hangs once the context has grown
    why: "+6 % short decode"
    by: assistant
    until: $(date -d "3 days" +%F)
END
tell "cat allow | tee -a agents.yaml"
tell "echo '# try' >> fork/launcher/simulator/tokens.py"
tell pdlaunch up agents.yaml -m "'+6 % short decode'"
tell pdlaunch diff noon
tell pdlaunch rollback --to noon --yes -m "'agents hang'"
tell pdlaunch diff noon --live
