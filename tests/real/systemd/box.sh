#!/usr/bin/env bash
# A real systemd as PID 1 of namespaces of its own, on a machine whose own PID 1 may be anything. Root, cgroup2, util-linux.
#   box.sh up FOLDER           boot; FOLDER/keep holds what a reboot leaves: /etc/systemd/system, the journal, /var/lib/systemd
#   box.sh exec FOLDER -- CMD  run CMD inside, with this directory and environment
#   box.sh down FOLDER         stop every unit in order, end what is left, forget /run and the rest
# The machine's files are there read-only but for /tmp and BOX_RW="dir dir"; the network is the machine's own; the rest is private.
set -euo pipefail

act=${1:?up, exec or down} box=${2:?a folder}
shift 2
if [[ ${1:-} == -- ]]; then shift; fi

pid() { cat "$box/pid" 2>/dev/null || true; }
inside() {
  nsenter -t "$(pid)" -m -p -C -u -i --wdns="$PWD" -- env -u XDG_RUNTIME_DIR -u DBUS_SESSION_BUS_ADDRESS container=box "$@"
}
wait_for() { # SECONDS CMD: until CMD succeeds
  local tries=$(($1 * 20)); shift
  until "$@" >/dev/null 2>&1; do ((tries-- > 0)) || return 1; sleep 0.05; done
}
gone() { [[ ! -d /proc/$1 ]]; }

up() {
  if [[ -n $(pid) ]] && ! gone "$(pid)"; then echo "already up" >&2; exit 1; fi
  mkdir -p "$box"/{cg,run,keep/units,keep/journal,keep/systemd}
  [[ -s $box/keep/machine-id ]] || tr -d - </proc/sys/kernel/random/uuid >"$box/keep/machine-id"
  mountpoint -q "$box/cg" || mount -t cgroup2 box-cgroup2 "$box/cg"
  local group=box.$$
  mkdir "$box/cg/$group"
  echo "$group" >"$box/cgroup"
  setsid bash -c 'echo $$ >"$1/cg/$2/cgroup.procs"
    exec unshare --pid --fork --mount --propagation private --cgroup --uts --ipc --mount-proc --kill-child bash "$0" boot "$1"' \
    "${BASH_SOURCE[0]}" "$box" "$group" </dev/null >"$box/boot.log" 2>&1 &
  local outer=$!
  echo "$outer" >"$box/outer"
  started() {
    local found
    found=$(cat /proc/"$outer"/task/*/children | tr -d ' ') && [[ -n $found && $(cat "/proc/$found/comm") == systemd ]] &&
      echo "$found" >"$box/pid"
  }
  wait_for 10 started || { echo "systemd did not start:" >&2; cat "$box/boot.log" >&2; exit 1; }
  # unshare itself is outside the PID namespace: in this cgroup it would read there as PID 0.
  echo "$outer" >"$box/cg/cgroup.procs"
  wait_for 20 inside systemctl is-active --quiet basic.target systemd-journald.service
}

boot() { # inside the namespaces, before systemd takes this process over
  umount -R /sys/fs/cgroup 2>/dev/null || true
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  mount -o remount,bind,ro /
  mount -t tmpfs -o mode=755,nosuid,nodev tmpfs "$box/run"
  local n=0 dir
  for dir in /tmp ${BOX_RW:-}; do
    n=$((n + 1))
    mkdir -p "$box/run/box/rw/$n"
    mount --bind "$dir" "$box/run/box/rw/$n"
    mount -o remount,bind,rw "$box/run/box/rw/$n"
  done
  mount --rbind "$box/run" /run
  mkdir -p /run/lock /run/box/units /run/systemd/{system,journal,journald.conf.d,system.conf.d}
  touch /run/systemd/journal/flushed # else it waits in /run to be told that /var is there
  for dir in etc var root home opt srv; do # writable, and forgotten at the end
    [[ -d /$dir ]] || continue
    mkdir -p "/run/box/over/$dir/"{up,work}
    chmod --reference="/$dir" "/run/box/over/$dir/up"
    mount -t overlay -o "lowerdir=/$dir,upperdir=/run/box/over/$dir/up,workdir=/run/box/over/$dir/work" overlay "/$dir"
  done
  n=0
  for dir in /tmp ${BOX_RW:-}; do n=$((n + 1)); mount --rbind "/run/box/rw/$n" "$dir"; done # the overlays would hide them
  mkdir -p /etc/systemd/system /var/log/journal /var/lib/systemd
  mount --bind "$box/keep/units" /etc/systemd/system
  mount --bind "$box/keep/journal" /var/log/journal
  mount --bind "$box/keep/systemd" /var/lib/systemd
  cat "$box/keep/machine-id" >/etc/machine-id
  devices
  mount --bind /proc/sys /proc/sys
  mount -o remount,bind,ro /proc/sys
  mount -o remount,bind,ro /sys 2>/dev/null || true
  local units=/lib/systemd/system unit
  for unit in {sysinit,basic,multi-user,sockets,timers,paths,slices,network,network-online,network-pre,nss-lookup,time-sync}.target \
    {remote-fs,local-fs,local-fs-pre,swap,shutdown,umount,final,exit,poweroff,reboot,halt,rescue,emergency}.target user.slice \
    systemd-exit.service systemd-journald.service systemd-journald.socket systemd-journald-dev-log.socket dbus.service dbus.socket; do
    if [[ -e $units/$unit ]]; then cp -L "$units/$unit" /run/box/units/; fi
  done
  printf '[Unit]\nRequires=basic.target\nWants=systemd-journald.service dbus.socket multi-user.target timers.target\nAfter=basic.target\nAllowIsolate=yes\n' \
    >/run/box/units/box.target
  printf '[Journal]\nStorage=persistent\nRateLimitIntervalSec=0\nReadKMsg=no\nForwardToConsole=no\n' >/run/systemd/journald.conf.d/box.conf
  printf '[Manager]\nDefaultTimeoutStopSec=10s\nLogTarget=journal\nShowStatus=no\n' >/run/systemd/system.conf.d/box.conf
  hostname box
  local path=/etc/systemd/system.control:/run/systemd/system.control:/run/systemd/transient:/etc/systemd/system:/run/systemd/system
  exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 container=box \
    SYSTEMD_UNIT_PATH="$path:/run/box/units" /lib/systemd/systemd --system --unit=box.target --log-target=journal-or-kmsg
}

devices() {
  local dev=/run/box/dev name
  mkdir -p "$dev"
  mount -t tmpfs -o mode=755 tmpfs "$dev"
  for name in null zero full random urandom tty; do touch "$dev/$name"; mount --bind "/dev/$name" "$dev/$name"; done
  mkdir "$dev"/{shm,pts}
  mount -t tmpfs -o mode=1777 tmpfs "$dev/shm"
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts "$dev/pts"
  ln -s pts/ptmx "$dev/ptmx"
  ln -s /proc/self/fd "$dev/fd"
  for name in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${name%:*}" "$dev/${name#*:}"; done
  mount --rbind "$dev" /dev
}

down() {
  local main
  main=$(pid)
  if [[ -n $main ]] && ! gone "$main"; then
    inside systemctl --no-block exit 2>/dev/null || true
    wait_for "${BOX_DOWN_S:-30}" gone "$main" || kill -9 "$main" # the kernel then ends all that is in there
    wait_for 5 gone "$main" || true
  fi
  if [[ -s $box/cgroup ]] && mountpoint -q "$box/cg"; then
    find "$box/cg/$(cat "$box/cgroup")" -depth -type d -exec rmdir {} \; 2>/dev/null || true
    umount "$box/cg" || true
  fi
  rm -f "$box"/{pid,outer,cgroup}
}

case $act in
  up | boot | down) "$act" ;;
  exec) inside "$@" ;;
  *) echo "up, exec or down" >&2; exit 2 ;;
esac
