#!/usr/bin/env -S -i /bin/bash
# sim / decode-0, service fa2bb321
# Runs without pdlaunch. An edit here counts as drift: change the profile, then `pdlaunch up`.
# Starts from an empty environment, also as `bash decode-0.sh`: what the caller exports changes nothing here.
[[ -z $(/usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _) ]] || exec /usr/bin/env -i /bin/bash "$0"
set -eu

env=(
  HOME=/var/lib/sglang                                                                 # base
  USER=sglang                                                                          # base
  LANG=C.UTF-8                                                                         # base
  PATH=/opt/pdlaunch/bin:/usr/local/bin:/usr/bin:/bin                                  # base
  TMPDIR=/tmp                                                                          # base
  PYTHONNOUSERSITE=1                                                                   # base
  PYTHONSAFEPATH=1                                                                     # base
  PYTHONUNBUFFERED=1                                                                   # base
  CUDA_DEVICE_ORDER=PCI_BUS_ID                                                         # base
  SPT_NOENV=1                                                                          # base
  PDLAUNCH_SERVICE=/var/lib/pdlaunch/sim/decode-0                                      # pdlaunch
  PYTHONPATH=/var/lib/pdlaunch/sim/engine/41ab9d07                                     # pdlaunch  the engine, as it was at `up`
  XDG_CACHE_HOME=/var/cache/pdlaunch/sglang-0.1.0-cpu-77231da1/xdg                     # base
  SGLANG_CACHE_DIR=/var/cache/pdlaunch/sglang-0.1.0-cpu-77231da1/sglang                # base
  SGLANG_JIT_CACHE_DIR=/var/cache/pdlaunch/sglang-0.1.0-cpu-77231da1/sglang/jit        # base
  TRITON_CACHE_DIR=/var/cache/pdlaunch/sglang-0.1.0-cpu-77231da1/triton                # base
  TORCHINDUCTOR_CACHE_DIR=/var/cache/pdlaunch/sglang-0.1.0-cpu-77231da1/inductor       # base
  TORCH_EXTENSIONS_DIR=/var/cache/pdlaunch/sglang-0.1.0-cpu-77231da1/torch-extensions  # base
  FLASHINFER_WORKSPACE_BASE=/var/cache/pdlaunch/sglang-0.1.0-cpu-77231da1/flashinfer   # base
  TILELANG_CACHE_DIR=/var/cache/pdlaunch/sglang-0.1.0-cpu-77231da1/tilelang            # base
  CUDA_CACHE_PATH=/var/cache/pdlaunch/sglang-0.1.0-cpu-77231da1/cuda                   # base
  SGLANG_EXPOSE_OWN_ENV_VARS=1                                                         # pdlaunch
  SGLANG_HOST_IP=127.0.0.1                                                             # pdlaunch
  PDLAUNCH_DIGEST=fa2bb321c4e5b2d44ab01347659f984673e24910c4c6f3170658e55a5a34e8b9     # pdlaunch
)
argv=(
  /opt/pdlaunch/bin/python -m launcher.simulator  # sim.yaml:6
  --model-path simulated-model                    # engine
  --served-model-name sim                         # pdlaunch
  --host 127.0.0.1                                # pdlaunch
  --port 31010                                    # pdlaunch
  --nccl-port 31012                               # pdlaunch
  --tp-size 1                                     # sim.yaml:13  gpus
  --disaggregation-mode decode                    # pdlaunch
  --disaggregation-transfer-backend nixl          # pdlaunch
  --disaggregation-bootstrap-port 31003           # pdlaunch
  --enable-metrics                                # pdlaunch
  --context-length 65536                          # sim.yaml:9
  --chunked-prefill-size 4096                     # sim.yaml:10
)
export "${env[@]}"
exec /usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _ "${argv[@]}"
