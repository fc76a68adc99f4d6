"""Fields of ``--kv-transfer-config`` per vLLM release, at the top level and in each child of a MultiConnector alike.

Source: vllm/config/kv_transfer.py in the CPU wheels of 0.18.0, 0.20.2, 0.22.1, 0.23.0, 0.25.1, 0.27.1, 0.28.0, 0.29.0,
0.30.0, 0.31.0 and 0.32.0, and the wheel of 0.33.0. That an unknown field is refused at start was run on 0.23.0,
0.27.1 and 0.32.0.
"""

from __future__ import annotations

from pd_launch.schemas.target import Target

KV_FIELDS: dict[str, str | None] = {
    "kv_connector": None,
    "engine_id": None,
    "kv_buffer_device": None,
    "kv_buffer_size": "0.32.0",
    "kv_role": None,
    "kv_rank": "0.32.0",
    "kv_parallel_size": "0.32.0",
    "kv_ip": "0.32.0",
    "kv_port": None,
    "kv_connector_extra_config": None,
    "kv_connector_module_path": None,
    "enable_permute_local_kv": None,
    "kv_load_failure_policy": None,
}
"""Every field since 0.18.0, with the first release that no longer has it (None: all have it)."""


def kv_field_dropped(name: str, target: Target) -> str | None:
    """Return the release that dropped a field, if ``target`` is that or newer; else None."""
    dropped = KV_FIELDS.get(name)
    return dropped if dropped is not None and target.vllm_at_least(dropped) else None


def kv_fields(target: Target) -> list[str]:
    """Return the fields that ``target`` accepts."""
    return [name for name in KV_FIELDS if kv_field_dropped(name, target) is None]
