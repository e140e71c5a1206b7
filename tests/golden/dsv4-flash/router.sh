#!/usr/bin/env -S -i /bin/bash
# dsv4-flash / router, service 67dc61c3
# Runs without pdlaunch. An edit here counts as drift: change the profile, then `pdlaunch up`.
# Starts from an empty environment, also as `bash router.sh`: what the caller exports changes nothing here.
[[ -z $(/usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _) ]] || exec /usr/bin/env -i /bin/bash "$0"
set -eu

env=(
  HOME=/var/lib/sglang                                                              # base
  USER=sglang                                                                       # dsv4-flash.yaml:23
  LANG=C.UTF-8                                                                      # base
  PATH=/opt/sglang/venv/bin:/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin        # base
  TMPDIR=/tmp                                                                       # base
  PYTHONNOUSERSITE=1                                                                # base
  PYTHONSAFEPATH=1                                                                  # base
  PYTHONUNBUFFERED=1                                                                # base
  CUDA_DEVICE_ORDER=PCI_BUS_ID                                                      # base
  SPT_NOENV=1                                                                       # base
  PDLAUNCH_SERVICE=/var/lib/pdlaunch/dsv4-flash/router                              # pdlaunch
  PDLAUNCH_DIGEST=67dc61c3cb3785933a991a7eba2bd15d2477d5e6400d16fa702bc5260d359599  # pdlaunch
)
argv=(
  /opt/sglang/venv/bin/python -m sglang_router.launch_router  # dsv4-flash.yaml:65
  --host 127.0.0.1                                            # pdlaunch
  --port 8000                                                 # dsv4-flash.yaml:66
  --pd-disaggregation                                         # pdlaunch
  --prefill http://127.0.0.1:31000 31003                      # pdlaunch
  --decode http://127.0.0.1:31010                             # pdlaunch
  --prometheus-host 127.0.0.1                                 # pdlaunch
  --prometheus-port 31020                                     # pdlaunch
  --worker-startup-check-interval 1                           # pdlaunch
  --worker-startup-timeout-secs 1800                          # dsv4-flash.yaml:80  ready.within
  --policy round_robin                                        # dsv4-flash.yaml:68
  --request-timeout-secs 3600                                 # dsv4-flash.yaml:69
  --health-check-interval-secs 10                             # dsv4-flash.yaml:70
  --health-check-timeout-secs 130                             # dsv4-flash.yaml:71
  --disable-circuit-breaker                                   # dsv4-flash.yaml:72
  --disable-retries                                           # dsv4-flash.yaml:73
  --max-concurrent-requests 64                                # dsv4-flash.yaml:74
  --queue-size 256                                            # dsv4-flash.yaml:75
  --queue-timeout-secs 900                                    # dsv4-flash.yaml:76
  --shutdown-grace-period-secs 60                             # dsv4-flash.yaml:77
)
export "${env[@]}"
exec /usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _ "${argv[@]}"
