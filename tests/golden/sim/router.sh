#!/usr/bin/env -S -i /bin/bash
# sim / router, service 17ff6e33
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
  PDLAUNCH_SERVICE=/var/lib/pdlaunch/sim/router                                     # pdlaunch
  PDLAUNCH_DIGEST=17ff6e33b5a184e50ed342970755b57bc082f5b77cbbbdf6b2c07877766ded43  # pdlaunch
)
argv=(
  /var/lib/pdlaunch/engines/cpu/venv/bin/python -m sglang_router.launch_router  # sim.yaml:15
  --host 127.0.0.1                                                              # pdlaunch
  --port 30090                                                                  # sim.yaml:16
  --pd-disaggregation                                                           # pdlaunch
  --prefill http://127.0.0.1:31000 31003                                        # pdlaunch
  --decode http://127.0.0.1:31010                                               # pdlaunch
  --prometheus-host 127.0.0.1                                                   # pdlaunch
  --prometheus-port 31020                                                       # pdlaunch
  --worker-startup-check-interval 1                                             # pdlaunch
  --worker-startup-timeout-secs 60                                              # sim.yaml:23  ready.within
  --policy round_robin                                                          # sim.yaml:18
  --disable-circuit-breaker                                                     # sim.yaml:19
  --disable-retries                                                             # sim.yaml:20
)
export "${env[@]}"
exec /usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _ "${argv[@]}"
