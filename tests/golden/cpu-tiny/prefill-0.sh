#!/usr/bin/env -S -i /bin/bash
# cpu-tiny / prefill-0, service f0c39a61
# Runs without pdlaunch. An edit here counts as drift: change the profile, then `pdlaunch up`.
# Starts from an empty environment, also as `bash prefill-0.sh`: what the caller exports changes nothing here.
[[ -z $(/usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _) ]] || exec /usr/bin/env -i /bin/bash "$0"
set -eu

env=(
  HOME=/var/lib/sglang                                                                  # base
  USER=sglang                                                                           # base
  LANG=C.UTF-8                                                                          # base
  PATH=/var/lib/pdlaunch/engines/cpu/venv/bin:/usr/local/bin:/usr/bin:/bin              # base
  TMPDIR=/tmp                                                                           # base
  PYTHONNOUSERSITE=1                                                                    # base
  PYTHONSAFEPATH=1                                                                      # base
  PYTHONUNBUFFERED=1                                                                    # base
  CUDA_DEVICE_ORDER=PCI_BUS_ID                                                          # base
  SPT_NOENV=1                                                                           # base
  PDLAUNCH_SERVICE=/var/lib/pdlaunch/cpu-tiny/prefill-0                                 # pdlaunch
  PYTHONPATH=/var/lib/pdlaunch/cpu-tiny/engine/41ab9d07                                 # pdlaunch  the engine, as it was at `up`
  XDG_CACHE_HOME=/var/cache/pdlaunch/sglang-0.5.23-cpu-1c13669c/xdg                     # base
  SGLANG_CACHE_DIR=/var/cache/pdlaunch/sglang-0.5.23-cpu-1c13669c/sglang                # base
  SGLANG_JIT_CACHE_DIR=/var/cache/pdlaunch/sglang-0.5.23-cpu-1c13669c/sglang/jit        # base
  TRITON_CACHE_DIR=/var/cache/pdlaunch/sglang-0.5.23-cpu-1c13669c/triton                # base
  TORCHINDUCTOR_CACHE_DIR=/var/cache/pdlaunch/sglang-0.5.23-cpu-1c13669c/inductor       # base
  TORCH_EXTENSIONS_DIR=/var/cache/pdlaunch/sglang-0.5.23-cpu-1c13669c/torch-extensions  # base
  FLASHINFER_WORKSPACE_BASE=/var/cache/pdlaunch/sglang-0.5.23-cpu-1c13669c/flashinfer   # base
  TILELANG_CACHE_DIR=/var/cache/pdlaunch/sglang-0.5.23-cpu-1c13669c/tilelang            # base
  CUDA_CACHE_PATH=/var/cache/pdlaunch/sglang-0.5.23-cpu-1c13669c/cuda                   # base
  SGLANG_EXPOSE_OWN_ENV_VARS=1                                                          # pdlaunch
  SGLANG_HOST_IP=127.0.0.1                                                              # pdlaunch
  SGLANG_USE_CPU_ENGINE=1                                                               # engine  SGLang's own switch for CPU serving; it also turns the compatibility layer on
  UCX_TLS=tcp,self                                                                      # cpu-tiny.yaml:19
  OMP_NUM_THREADS=1                                                                     # cpu-tiny.yaml:21
  HF_HUB_OFFLINE=1                                                                      # cpu-tiny.yaml:22
  UCX_NET_DEVICES=lo                                                                    # cpu-tiny.yaml:20
  PDLAUNCH_DIGEST=f0c39a61b8daa4d5104d6009102d8fa8e6cdb5ee8df04b1d98439d1df4d02784      # pdlaunch
)
argv=(
  /var/lib/pdlaunch/engines/cpu/venv/bin/python -m sglang.launch_server  # cpu-tiny.yaml:7
  --model-path /var/lib/pdlaunch/engines/cpu/model                       # engine
  --served-model-name cpu-tiny                                           # pdlaunch
  --host 127.0.0.1                                                       # pdlaunch
  --port 31000                                                           # pdlaunch
  --nccl-port 31002                                                      # pdlaunch
  --tp-size 1                                                            # cpu-tiny.yaml:24  gpus
  --disaggregation-mode prefill                                          # pdlaunch
  --disaggregation-transfer-backend nixl                                 # pdlaunch
  --disaggregation-bootstrap-port 31003                                  # pdlaunch
  --enable-metrics                                                       # pdlaunch
  --device cpu                                                           # engine  there is no GPU
  --disaggregation-decode-retraction-backup cpu_tensor                   # engine  the default, host_pool, pins memory through CUDA and stops a decode server at its start
  --context-length 1024                                                  # cpu-tiny.yaml:11
  --max-total-tokens 4096                                                # cpu-tiny.yaml:12
  --max-running-requests 8                                               # cpu-tiny.yaml:13
  --chunked-prefill-size 128                                             # cpu-tiny.yaml:14
  --disable-overlap-schedule                                             # cpu-tiny.yaml:15
  --random-seed 1                                                        # cpu-tiny.yaml:16
  --sleep-on-idle                                                        # cpu-tiny.yaml:17
)
export "${env[@]}"
exec /usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _ "${argv[@]}"
