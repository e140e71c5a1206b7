#!/usr/bin/env bash
# Everything that must hold: style, types, layers, unit tests, then the tests on real SGLang, NIXL and router.
# Does all the set-up; what is installed already is found. Needs no GPU. Arguments go to the real tests' pytest.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What Debian has and the tests need real: a program, and the package that brings it.
missing=()
while read -r program package; do
  command -v "$program" >/dev/null || missing+=("$package")
done <<'LIST'
promtool prometheus
systemctl systemd
dbus-daemon dbus
unshare util-linux
pgrep procps
gcc gcc libc6-dev
LIST
if ((${#missing[@]})); then
  install="apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
    echo "error: missing: ${missing[*]}" >&2
    echo "hint: as root: $install" >&2
    exit 1
  fi
  bash -c "$install" >&2
fi

deploy/install.sh dev
export PATH="$PWD/.venv/bin:$PATH"

ruff check
ruff format --check
mypy
lint-imports --no-logo
pytest -n logical --maxprocesses 4 tests/unit

pdlaunch engine install cpu
PDLAUNCH_ROUTER_PYTHON=$(python -c 'from launcher.engines.cpu import home; print(home() / "venv/bin/python")')
export PDLAUNCH_ROUTER_PYTHON  # the engine's router serves the simulator's tests as well
pytest tests/real "$@"
