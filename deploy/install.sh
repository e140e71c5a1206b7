#!/usr/bin/env bash
# Make .venv and put pdlaunch into it, from this checkout (editable). Safe to repeat: done work is found done.
#   deploy/install.sh        what running needs
#   deploy/install.sh dev    and what developing needs
# Takes python3, or the one that $PYTHON names; 3.11 or newer.
set -euo pipefail
cd -P "$(dirname "${BASH_SOURCE[0]}")/.."

group=${1:-}
[[ $group == "" || $group == dev ]] || { echo "usage: deploy/install.sh [dev]" >&2; exit 2; }
base=${PYTHON:-python3}

"$base" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
  echo "error: Python 3.11 or newer is needed; \`$base\` is not" >&2
  echo "hint: PYTHON=/path/to/python3.11 $0 $group" >&2
  exit 1
}

# Debian keeps venv's ensurepip in a package of its own.
if ! "$base" -c 'import ensurepip, venv' 2>/dev/null; then
  fix="apt-get update && apt-get install -y --no-install-recommends python3-venv"
  if [[ $EUID -ne 0 ]] || ! command -v apt-get >/dev/null; then
    echo "error: this Python cannot make virtual environments" >&2
    echo "hint: as root: $fix" >&2
    exit 1
  fi
  echo "install: python3-venv, with apt" >&2
  export DEBIAN_FRONTEND=noninteractive
  bash -c "$fix" >&2 </dev/null
fi

# The stamp names everything that a repetition would have to notice; `dev` includes the rest.
wanted() { { "$base" -V; cat pyproject.toml; echo "$PWD $1"; } | sha256sum | cut -d' ' -f1; }
stamp=.venv/.pdlaunch
if [[ -f $stamp ]] && .venv/bin/python -c pass 2>/dev/null; then
  found=$(<"$stamp")
  [[ $found != "$(wanted dev)" && $found != "$(wanted "$group")" ]] || exit 0
fi

# An environment that was moved here, lost its Python or was interrupted in the making is made again.
if ! { grep -qF "$PWD/.venv" .venv/bin/pip && .venv/bin/pip --version; } >/dev/null 2>&1; then
  echo "install: .venv" >&2
  "$base" -m venv --clear .venv
fi
echo "install: pdlaunch${group:+ and what developing needs}" >&2
install() { .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input "$@" </dev/null >&2; }
if [[ $group == dev ]]; then
  install 'pip>=25.1'  # knows dependency groups
  install --editable . --group dev
else
  install --editable .
fi
.venv/bin/python -m compileall -q launcher  # pip does that for what it copies; an editable install is not copied
wanted "$group" >"$stamp"
