#!/usr/bin/env -S -i /bin/bash
# dsv4-flash-aggregated / aggregated-0, service 6f7acbeb
# Runs without pdlaunch. An edit here counts as drift: change the profile, then `pdlaunch up`.
# Starts from an empty environment, also as `bash aggregated-0.sh`: what the caller exports changes nothing here.
[[ -z $(/usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _) ]] || exec /usr/bin/env -i /bin/bash "$0"
set -eu

env=(
  HOME=/var/lib/sglang                                                                       # base
  USER=sglang                                                                                # dsv4-flash-aggregated.yaml:19
  LANG=C.UTF-8                                                                               # base
  PATH=/opt/sglang/venv/bin:/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin                 # base
  TMPDIR=/tmp                                                                                # base
  PYTHONNOUSERSITE=1                                                                         # base
  PYTHONSAFEPATH=1                                                                           # base
  PYTHONUNBUFFERED=1                                                                         # base
  CUDA_DEVICE_ORDER=PCI_BUS_ID                                                               # base
  SPT_NOENV=1                                                                                # base
  PDLAUNCH_SERVICE=/var/lib/pdlaunch/dsv4-flash-aggregated/aggregated-0                      # pdlaunch
  PYTHONPATH=/var/lib/pdlaunch/dsv4-flash-aggregated/engine/41ab9d07                         # dsv4-flash-aggregated.yaml:18  engine.source, as it was at `up`
  XDG_CACHE_HOME=/var/cache/pdlaunch/sglang-0.5.23-rtx-pro-6000-blackwell-3c10621d/xdg       # base
  SGLANG_CACHE_DIR=/var/cache/pdlaunch/sglang-0.5.23-rtx-pro-6000-blackwell-3c10621d/sglang  # base
  SGLANG_JIT_CACHE_DIR=/var/cache/pdlaunch/sglang-0.5.23-rtx-pro-6000-blackwell-3c10621d/sglang/jit  # base
  TRITON_CACHE_DIR=/var/cache/pdlaunch/sglang-0.5.23-rtx-pro-6000-blackwell-3c10621d/triton  # base
  TORCHINDUCTOR_CACHE_DIR=/var/cache/pdlaunch/sglang-0.5.23-rtx-pro-6000-blackwell-3c10621d/inductor  # base
  TORCH_EXTENSIONS_DIR=/var/cache/pdlaunch/sglang-0.5.23-rtx-pro-6000-blackwell-3c10621d/torch-extensions  # base
  FLASHINFER_WORKSPACE_BASE=/var/cache/pdlaunch/sglang-0.5.23-rtx-pro-6000-blackwell-3c10621d/flashinfer  # base
  TILELANG_CACHE_DIR=/var/cache/pdlaunch/sglang-0.5.23-rtx-pro-6000-blackwell-3c10621d/tilelang  # base
  CUDA_CACHE_PATH=/var/cache/pdlaunch/sglang-0.5.23-rtx-pro-6000-blackwell-3c10621d/cuda     # base
  SGLANG_EXPOSE_OWN_ENV_VARS=1                                                               # pdlaunch
  SGLANG_HOST_IP=127.0.0.1                                                                   # pdlaunch
  SGLANG_TIMEOUT_KEEP_ALIVE=120                                                              # dsv4-flash-aggregated.yaml:32
  SGLANG_HEALTH_CHECK_TIMEOUT=120                                                            # dsv4-flash-aggregated.yaml:33
  SGLANG_SM120_FLASHMLA_BACKEND=triton                                                       # dsv4-flash-aggregated.yaml:34
  NCCL_IB_DISABLE=1                                                                          # dsv4-flash-aggregated.yaml:35
  NCCL_P2P_LEVEL=SYS                                                                         # dsv4-flash-aggregated.yaml:36
  NCCL_MIN_NCHANNELS=8                                                                       # dsv4-flash-aggregated.yaml:37
  NCCL_SOCKET_IFNAME=lo                                                                      # dsv4-flash-aggregated.yaml:38
  GLOO_SOCKET_IFNAME=lo                                                                      # dsv4-flash-aggregated.yaml:39
  PDLAUNCH_DIGEST=6f7acbebb72a085aca6f5665f78991e46ea38a3bdb59a1ecf1c2b8bf9893b00f           # pdlaunch
)
argv=(
  /opt/sglang/venv/bin/python -m sglang.launch_server  # dsv4-flash-aggregated.yaml:16
  --model-path /models/DeepSeek-V4-Flash               # dsv4-flash-aggregated.yaml:11
  --served-model-name dsv4-flash                       # dsv4-flash-aggregated.yaml:13
  --host 127.0.0.1                                     # pdlaunch
  --port 31000                                         # pdlaunch
  --nccl-port 31002                                    # pdlaunch
  --tp-size 8                                          # dsv4-flash-aggregated.yaml:42  gpus
  --base-gpu-id 0                                      # dsv4-flash-aggregated.yaml:42  gpus
  --enable-metrics                                     # pdlaunch
  --context-length 262144                              # dsv4-flash-aggregated.yaml:21
  --kv-cache-dtype fp8_e4m3                            # dsv4-flash-aggregated.yaml:22
  --moe-runner-backend flashinfer_mxfp4                # dsv4-flash-aggregated.yaml:23
  --mem-fraction-static 0.85                           # dsv4-flash-aggregated.yaml:24
  --disable-custom-all-reduce                          # dsv4-flash-aggregated.yaml:25
  --disable-flashinfer-autotune                        # dsv4-flash-aggregated.yaml:26
  --reasoning-parser deepseek-v4                       # dsv4-flash-aggregated.yaml:27
  --tool-call-parser deepseekv4                        # dsv4-flash-aggregated.yaml:28
  --enable-cache-report                                # dsv4-flash-aggregated.yaml:29
  --soft-watchdog-timeout 60                           # dsv4-flash-aggregated.yaml:30
  --chunked-prefill-size 4096                          # dsv4-flash-aggregated.yaml:44
  --prefill-decode-interval 4                          # dsv4-flash-aggregated.yaml:45
  --max-running-requests 32                            # dsv4-flash-aggregated.yaml:46
  --cuda-graph-max-bs-decode 32                        # dsv4-flash-aggregated.yaml:47
)
export "${env[@]}"
exec /usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _ "${argv[@]}"
