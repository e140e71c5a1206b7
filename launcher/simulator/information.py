"""What a server says about itself: /model_info and /server_info."""

from typing import Any

from .naming import NOTICE, VERSION
from .service import Service


def model_info(service: Service) -> dict[str, Any]:
    """GET /model_info."""
    values = service.settings.values
    return {
        "model_path": values["model_path"],
        "served_model_name": values["served_model_name"],
        "tokenizer_path": values["tokenizer_path"],
        "is_generation": True,
        "preferred_sampling_params": None,
        "weight_version": "simulator",
        "load_format": "simulator",
        "reasoning_parser": values["reasoning_parser"],
        "tool_call_parser": values["tool_call_parser"],
        "disaggregation_mode": values["disaggregation_mode"],
        "has_image_understanding": False,
        "has_audio_understanding": False,
        "model_type": "simulator",
        "architectures": ["Simulator"],
        "simulator": NOTICE,
    }


async def server_info(service: Service) -> dict[str, Any]:
    """GET /server_info; asks the scheduler, so it hangs when that one does."""
    await service.engine.answers()
    values = service.settings.values
    return {
        **values,
        **service.settings.unknown,
        "launch_command": service.settings.launch_command,
        "max_total_num_tokens": values["max_total_tokens"],
        "max_req_input_len": service.settings.number("context_length") - 1,
        "startup_time": {"total": service.startup_s},
        "internal_states": [_internal_state(service)],
        "version": VERSION,
        "simulator": NOTICE,
        "frontend": "python",
    }


def _internal_state(service: Service) -> dict[str, Any]:
    values = service.settings.values
    state: dict[str, Any] = {
        **values,
        "simulator": NOTICE,
        "world_size": service.settings.number("tp_size") * service.settings.number("pp_size"),
        "effective_max_running_requests_per_dp": values["max_running_requests"],
        "last_gen_throughput": service.engine.snapshot["gen_throughput"],
        "memory_usage": {"weight": 0.0, "kvcache": 0.0, "graph": 0.0, "token_capacity": values["max_total_tokens"]},
    }
    if service.environment.expose_env:
        state["env_vars"] = dict(service.environment.own_variables)
    return state
