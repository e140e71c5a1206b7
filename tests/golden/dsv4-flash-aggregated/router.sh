#!/usr/bin/env -S -i /bin/bash
# dsv4-flash-aggregated / router, service 7fe7d3a1
# Runs without pdlaunch. An edit here counts as drift: change the profile, then `pdlaunch up`.
# Starts from an empty environment, also as `bash router.sh`: what the caller exports changes nothing here.
[[ -z $(/usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _) ]] || exec /usr/bin/env -i /bin/bash "$0"
set -eu

env=(
  HOME=/var/lib/sglang                                                              # base
  USER=sglang                                                                       # dsv4-flash-aggregated.yaml:19
  LANG=C.UTF-8                                                                      # base
  PATH=/opt/sglang/venv/bin:/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin        # base
  TMPDIR=/tmp                                                                       # base
  PYTHONNOUSERSITE=1                                                                # base
  PYTHONSAFEPATH=1                                                                  # base
  PYTHONUNBUFFERED=1                                                                # base
  CUDA_DEVICE_ORDER=PCI_BUS_ID                                                      # base
  SPT_NOENV=1                                                                       # base
  PDLAUNCH_SERVICE=/var/lib/pdlaunch/dsv4-flash-aggregated/router                   # pdlaunch
  PDLAUNCH_DIGEST=7fe7d3a158f7b476cb72cf20e984d4b7d844a6955eaacf6b22d3be45f6568807  # pdlaunch
)
argv=(
  /opt/sglang/venv/bin/python -m sglang_router.launch_router  # dsv4-flash-aggregated.yaml:49
  --host 127.0.0.1                                            # pdlaunch
  --port 8000                                                 # dsv4-flash-aggregated.yaml:50
  --worker-urls http://127.0.0.1:31000                        # pdlaunch
  --prometheus-host 127.0.0.1                                 # pdlaunch
  --prometheus-port 31010                                     # pdlaunch
  --worker-startup-check-interval 1                           # pdlaunch
  --worker-startup-timeout-secs 1800                          # dsv4-flash-aggregated.yaml:64  ready.within
  --policy round_robin                                        # dsv4-flash-aggregated.yaml:52
  --request-timeout-secs 3600                                 # dsv4-flash-aggregated.yaml:53
  --health-check-interval-secs 10                             # dsv4-flash-aggregated.yaml:54
  --health-check-timeout-secs 130                             # dsv4-flash-aggregated.yaml:55
  --disable-circuit-breaker                                   # dsv4-flash-aggregated.yaml:56
  --disable-retries                                           # dsv4-flash-aggregated.yaml:57
  --max-concurrent-requests 64                                # dsv4-flash-aggregated.yaml:58
  --queue-size 256                                            # dsv4-flash-aggregated.yaml:59
  --queue-timeout-secs 900                                    # dsv4-flash-aggregated.yaml:60
  --shutdown-grace-period-secs 60                             # dsv4-flash-aggregated.yaml:61
)
export "${env[@]}"
exec /usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _ "${argv[@]}"
