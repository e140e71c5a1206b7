#!/usr/bin/env -S -i /bin/bash
# cpu-tiny / router, service 7b0878ed
# Runs without pdlaunch. An edit here counts as drift: change the profile, then `pdlaunch up`.
# Starts from an empty environment, also as `bash router.sh`: what the caller exports changes nothing here.
[[ -z $(/usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _) ]] || exec /usr/bin/env -i /bin/bash "$0"
set -eu

env=(
  HOME=/var/lib/sglang                                                              # base
  USER=sglang                                                                       # base
  LANG=C.UTF-8                                                                      # base
  PATH=/var/lib/pdlaunch/engines/cpu/venv/bin:/usr/local/bin:/usr/bin:/bin          # base
  TMPDIR=/tmp                                                                       # base
  PYTHONNOUSERSITE=1                                                                # base
  PYTHONSAFEPATH=1                                                                  # base
  PYTHONUNBUFFERED=1                                                                # base
  CUDA_DEVICE_ORDER=PCI_BUS_ID                                                      # base
  SPT_NOENV=1                                                                       # base
  PDLAUNCH_SERVICE=/var/lib/pdlaunch/cpu-tiny/router                                # pdlaunch
  PDLAUNCH_DIGEST=7b0878ed283a84ae17b5119302de2a083a7611a9158dc3732a1383999ab23a86  # pdlaunch
)
argv=(
  /var/lib/pdlaunch/engines/cpu/venv/bin/python -m sglang_router.launch_router  # cpu-tiny.yaml:30
  --host 127.0.0.1                                                              # pdlaunch
  --port 30080                                                                  # cpu-tiny.yaml:31
  --pd-disaggregation                                                           # pdlaunch
  --prefill http://127.0.0.1:31000 31003                                        # pdlaunch
  --decode http://127.0.0.1:31010                                               # pdlaunch
  --prometheus-host 127.0.0.1                                                   # pdlaunch
  --prometheus-port 31020                                                       # pdlaunch
  --worker-startup-check-interval 1                                             # pdlaunch
  --worker-startup-timeout-secs 300                                             # cpu-tiny.yaml:41  ready.within
  --policy round_robin                                                          # cpu-tiny.yaml:33
  --disable-circuit-breaker                                                     # cpu-tiny.yaml:34
  --disable-retries                                                             # cpu-tiny.yaml:35
  --health-check-interval-secs 10                                               # cpu-tiny.yaml:36
  --health-check-timeout-secs 30                                                # cpu-tiny.yaml:37
  --request-timeout-secs 600                                                    # cpu-tiny.yaml:38
)
export "${env[@]}"
exec /usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _ "${argv[@]}"
