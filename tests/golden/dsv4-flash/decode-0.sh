#!/usr/bin/env -S -i /bin/bash
# dsv4-flash / decode-0, service df39883d
# Runs without pdlaunch. An edit here counts as drift: change the profile, then `pdlaunch up`.
# Starts from an empty environment, also as `bash decode-0.sh`: what the caller exports changes nothing here.
[[ -z $(/usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _) ]] || exec /usr/bin/env -i /bin/bash "$0"
set -eu

env=(
  HOME=/var/lib/sglang                                                                       # base
  USER=sglang                                                                                # dsv4-flash.yaml:23
  LANG=C.UTF-8                                                                               # base
  PATH=/opt/sglang/venv/bin:/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin                 # base
  TMPDIR=/tmp                                                                                # base
  PYTHONNOUSERSITE=1                                                                         # base
  PYTHONSAFEPATH=1                                                                           # base
  PYTHONUNBUFFERED=1                                                                         # base
  CUDA_DEVICE_ORDER=PCI_BUS_ID                                                               # base
  SPT_NOENV=1                                                                                # base
  PDLAUNCH_SERVICE=/var/lib/pdlaunch/dsv4-flash/decode-0                                     # pdlaunch
  PYTHONPATH=/var/lib/pdlaunch/dsv4-flash/engine/41ab9d07                                    # dsv4-flash.yaml:22  engine.source, as it was at `up`
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
  SGLANG_DISAGGREGATION_WAITING_TIMEOUT=900                                                  # dsv4-flash.yaml:36
  SGLANG_TIMEOUT_KEEP_ALIVE=120                                                              # dsv4-flash.yaml:37
  UCX_TLS=cuda_copy,cuda_ipc,sm,tcp,self                                                     # dsv4-flash.yaml:38
  UCX_NET_DEVICES=lo                                                                         # dsv4-flash.yaml:39
  NCCL_IB_DISABLE=1                                                                          # dsv4-flash.yaml:40
  NCCL_P2P_LEVEL=SYS                                                                         # dsv4-flash.yaml:41
  NCCL_MIN_NCHANNELS=8                                                                       # dsv4-flash.yaml:42
  NCCL_SOCKET_IFNAME=lo                                                                      # dsv4-flash.yaml:43
  GLOO_SOCKET_IFNAME=lo                                                                      # dsv4-flash.yaml:44
  SGLANG_SM120_FLASHMLA_BACKEND=triton                                                       # dsv4-flash.yaml:63
  PDLAUNCH_DIGEST=df39883dc051d0bcdef920dff4aef62331188b3d91872e5d9df2a89083251c1b           # pdlaunch
)
argv=(
  /opt/sglang/venv/bin/python -m sglang.launch_server  # dsv4-flash.yaml:20
  --model-path /models/DeepSeek-V4-Flash               # dsv4-flash.yaml:15
  --served-model-name dsv4-flash                       # dsv4-flash.yaml:17
  --host 127.0.0.1                                     # pdlaunch
  --port 31010                                         # pdlaunch
  --nccl-port 31012                                    # pdlaunch
  --tp-size 4                                          # dsv4-flash.yaml:58  gpus
  --base-gpu-id 4                                      # dsv4-flash.yaml:58  gpus
  --disaggregation-mode decode                         # pdlaunch
  --disaggregation-transfer-backend nixl               # pdlaunch
  --disaggregation-bootstrap-port 31003                # pdlaunch
  --enable-metrics                                     # pdlaunch
  --context-length 262144                              # dsv4-flash.yaml:25
  --kv-cache-dtype fp8_e4m3                            # dsv4-flash.yaml:26
  --moe-runner-backend flashinfer_mxfp4                # dsv4-flash.yaml:27
  --mem-fraction-static 0.85                           # dsv4-flash.yaml:28
  --disable-custom-all-reduce                          # dsv4-flash.yaml:29
  --disable-flashinfer-autotune                        # dsv4-flash.yaml:30
  --reasoning-parser deepseek-v4                       # dsv4-flash.yaml:31
  --tool-call-parser deepseekv4                        # dsv4-flash.yaml:32
  --enable-cache-report                                # dsv4-flash.yaml:33
  --soft-watchdog-timeout 60                           # dsv4-flash.yaml:34
  --max-running-requests 32                            # dsv4-flash.yaml:60
  --cuda-graph-max-bs-decode 32                        # dsv4-flash.yaml:61
)
export "${env[@]}"
exec /usr/bin/env -u PWD -u OLDPWD -u SHLVL -u _ "${argv[@]}"
