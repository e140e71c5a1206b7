marked() { # MARK: every process that carries it, a renamed child as well
  grep -lzsxF -- "PDLAUNCH_SERVICE=$state/$1" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 || true
}
everything() { # every process of the deployment
  grep -lzsF -- "PDLAUNCH_SERVICE=$state/" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 || true
}
send() { local signal=$1 pid; shift; for pid in "$@"; do builtin kill -"$signal" "$pid" 2>/dev/null || true; done; }
main() { # SERVICE: its oldest process
  marked "$1" | while read -r pid; do
    echo "$(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null | cut -d' ' -f20) $pid"
  done | sort -n | head -n 1 | cut -d' ' -f2
}
