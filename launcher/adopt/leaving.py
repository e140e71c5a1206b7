"""What of an adopted environment and command line a profile leaves out, and why. Pure."""

from __future__ import annotations

import re

LOGIN = frozenset(
    {"LS_COLORS", "LSCOLORS", "LESSOPEN", "LESSCLOSE", "LESS", "PAGER", "EDITOR", "VISUAL", "TERM", "COLORTERM"}
    | {"TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERMINFO", "SHELL", "SHLVL", "PWD", "OLDPWD", "_", "LOGNAME", "MAIL"}
    | {"HOSTNAME", "HOSTTYPE", "OSTYPE", "MACHTYPE", "PS1", "PS2", "PROMPT_COMMAND", "HISTCONTROL", "HISTSIZE"}
    | {"HISTFILE", "HISTFILESIZE", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "TMUX", "TMUX_PANE", "STY", "WINDOW"}
    | {
        "VIRTUAL_ENV",
        "VIRTUAL_ENV_PROMPT",
        "MOTD_SHOWN",
        "LANGUAGE",
        "GPG_AGENT_INFO",
        "COLUMNS",
        "LINES",
        "DEBIAN_FRONTEND",
    }
)
"""Variables of a login shell, a terminal or an activated environment that no server reads."""
LOGIN_PATTERNS = re.compile(r"(?:XDG|SSH|SUDO|DBUS|GNOME|GTK|CONDA|VSCODE|LC|BYOBU|KONSOLE|PYENV|NVM)_.*|BASH_FUNC_.*")
SYSTEMD = frozenset(
    {"INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID", "NOTIFY_SOCKET", "WATCHDOG_PID"}
    | {"WATCHDOG_USEC", "MAINPID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "CREDENTIALS_DIRECTORY"}
    | {"RUNTIME_DIRECTORY", "STATE_DIRECTORY", "CACHE_DIRECTORY", "LOGS_DIRECTORY", "CONFIGURATION_DIRECTORY"}
    | {"MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE"}
)
"""What systemd gives each service: systemd.exec(5), "Environment Variables Set or Propagated"."""
OWN = frozenset(
    {"PATH", "HOME", "USER", "LANG", "TMPDIR", "PYTHONPATH", "PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONNOUSERSITE"}
    | {"PYTHONSAFEPATH", "PYTHONUNBUFFERED", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "SGLANG_HOST_IP", "HOST_IP"}
    | {"SGLANG_LOCAL_IP_NIC", "SGLANG_USE_CPU_ENGINE", "SGLANG_EXPOSE_OWN_ENV_VARS", "SGLANG_CACHE_DIR"}
    | {"SGLANG_JIT_CACHE_DIR", "SPT_NOENV"}
)
"""Variables that pdlaunch gives each service itself."""
ENGINE_FLAGS = {
    **dict.fromkeys(("tp", "tp-size", "tensor-parallel-size"), "tp"),
    **dict.fromkeys(("dp", "dp-size", "data-parallel-size"), "dp"),
    **dict.fromkeys(("ep", "ep-size", "expert-parallel-size"), "ep"),
    **dict.fromkeys(("base-gpu-id", "gpu-id-step"), "gpus"),
    "port": "port",
    "nccl-port": "nccl_port",
    "disaggregation-bootstrap-port": "bootstrap_port",
    **dict.fromkeys(("model", "model-path"), "model.path"),
    "served-model-name": "model.name",
    "revision": "model.revision",
    "host": "engine.host",
    "disaggregation-transfer-backend": "transfer",
    "device": "engine.kind",
    "disaggregation-mode": "the role",
    "enable-metrics": "always on",
}
"""Flags of an engine that a profile says by keys."""
ROUTER_FLAGS = {
    "host": "router.host",
    "port": "router.port",
    **dict.fromkeys(("prefill", "decode", "worker-urls", "pd-disaggregation", "mini-lb"), "the roles"),
    **dict.fromkeys(("prometheus-host", "prometheus-port"), "assigned by pdlaunch"),
}
"""Flags of a router that follow from the rest of a profile."""
NOWHERE = frozenset({"config", "dist-init-addr", "nccl-init-addr", "nnodes", "node-rank"})
"""Flags of an engine that no profile can express."""


def why_left(variable: str) -> str | None:
    """Why a profile does without a variable; None for one that it takes over."""
    if variable in OWN:
        return "given by pdlaunch itself"
    if variable in SYSTEMD:
        return "from systemd"
    if variable in LOGIN or LOGIN_PATTERNS.fullmatch(variable):
        return "from a login shell"
    return "no name that a profile can hold" if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable) else None
