"""Fields of ``--kv-transfer-config`` per vLLM release, at the top level and in each child of a MultiConnector alike.

Source: vllm/config/kv_transfer.py in the CPU wheels of 0.18.0, 0.20.2, 0.22.1, 0.23.0, 0.25.1, 0.27.1, 0.28.0, 0.29.0,
0.30.0, 0.31.0 and 0.32.0, and the wheel of 0.33.0. That an unknown field is refused at start was run on 0.23.0,
0.27.1 and 0.32.0.
"""

from __future__ import annotations

from pd_launch.schemas.core.target import Target
from pd_launch.schemas.releases.facts import Fact, Generated, vllm

_GONE = "0.32.0"
KV_FIELDS: dict[str, Fact] = {
    name: vllm(
        f"kv-field-{name}", None, until, f"--kv-transfer-config takes {name}",
        Generated("fields", f"KVTransferConfig.{name}"),
    )
    for name, until in {
        "kv_connector": None,
        "engine_id": None,
        "kv_buffer_device": None,
        "kv_buffer_size": _GONE,
        "kv_role": None,
        "kv_rank": _GONE,
        "kv_parallel_size": _GONE,
        "kv_ip": _GONE,
        "kv_port": None,
        "kv_connector_extra_config": None,
        "kv_connector_module_path": None,
        "enable_permute_local_kv": None,
        "kv_load_failure_policy": None,
    }.items()
}  # fmt: skip
"""Every field since the oldest row, with the releases that have it."""


def kv_field_dropped(name: str, target: Target) -> str | None:
    """Return the release that dropped a field, if ``target`` is that or newer; else None."""
    fact = KV_FIELDS.get(name)
    return fact.until if fact is not None and not fact.holds(target) else None


def kv_fields(target: Target) -> list[str]:
    """Return the fields that ``target`` accepts."""
    return [name for name in KV_FIELDS if kv_field_dropped(name, target) is None]
