"""What this vLLM, this configuration and this model ask of the connector; refused at start where unsupported."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from pd_launch.connector.canaries import has
from pd_launch.schemas.offload.groups import Group

FULL = ("FullAttentionSpec", "MLAAttentionSpec", "AscendMLAAttentionSpec")
WINDOWED = ("SlidingWindowSpec", "SlidingWindowMLASpec")


class UnsupportedError(ValueError):
    """The connector cannot work here; the message says why and what to change."""


def read_groups(kv_cache_config: Any, vllm_config: Any) -> list[Group]:
    """Return the ledger's view of the KV cache groups.

    Raises:
        UnsupportedError: a group holds anything but full, MLA or sliding-window attention, or the layout splits a
            request over ranks.
    """
    _check_parallel(vllm_config.parallel_config)
    _check_outputs(vllm_config)
    slack = 2 * (2 + _draft_tokens(vllm_config))  # two steps in flight, each with its token and its drafts
    groups = [_group(group, slack) for group in kv_cache_config.kv_cache_groups]
    if not groups:
        raise UnsupportedError("this model has no KV cache, so there is nothing to offload: remove the connector")
    if getattr(vllm_config, "use_v2_model_runner", False) and getattr(kv_cache_config, "needs_kv_cache_zeroing", False):
        raise UnsupportedError(
            "the V2 model runner zeroes blocks of a mixed-precision cache before they can be saved: set "
            "VLLM_USE_V2_MODEL_RUNNER=0 or use one kv-cache-dtype for all layers"
        )
    return groups


def _check_parallel(parallel: Any) -> None:
    for name, flag in (
        ("decode_context_parallel_size", "--decode-context-parallel-size"),
        ("prefill_context_parallel_size", "--prefill-context-parallel-size"),
    ):
        size = getattr(parallel, name, 1)
        if size != 1:
            raise UnsupportedError(f"preemption offload works with {flag} 1 only, got {size}: remove {flag}")


def _check_outputs(vllm_config: Any) -> None:
    """Refuse routed experts: they are collected as tokens are computed, and those of a restored prefix never come.

    vLLM 0.32.0 ends at the first restore that begins inside a block, 0.33.0 takes none, older releases return what
    lies in the new blocks.
    """
    outputs, model = getattr(vllm_config, "aux_output_config", None), getattr(vllm_config, "model_config", None)
    if getattr(outputs, "enabled", False) is True or getattr(model, "enable_return_routed_experts", False) is True:
        raise UnsupportedError(
            "preemption offload does not work with --enable-return-routed-experts, which needs every token to be "
            "computed where it is returned: remove that flag or the connector"
        )


def _draft_tokens(vllm_config: Any) -> int:
    speculative = getattr(vllm_config, "speculative_config", None)
    return int(getattr(speculative, "num_speculative_tokens", 0) or 0)


def leaves_room_for_drafts(vllm_config: Any) -> bool:
    """Whether vLLM keeps blocks for the next step of a request whose KV is loaded beside the steps (from 0.31.0 on).

    Without drafts that step is one token, which has its room.
    """
    if not _draft_tokens(vllm_config):
        return True
    scheduler = import_module("vllm.v1.core.sched.scheduler").Scheduler
    return has(scheduler, "_spec_decode_step_blocks")


def _group(group: Any, slack: int) -> Group:
    if getattr(group, "host_resident", False) or not getattr(group, "enable_kv_transfer", True):
        raise UnsupportedError("KV cache groups in host memory (HiSparse) cannot be offloaded: remove the connector")
    specs = list(_layer_specs(group.kv_cache_spec))
    for spec in specs:
        _check_spec(spec)
    spec = specs[0]
    window = spec.sliding_window if type(spec).__name__ in WINDOWED else None
    return Group(spec.block_size, window, int(getattr(spec, "extra_retained_tokens", 0)), slack)


def _layer_specs(spec: Any) -> Iterable[Any]:
    inner = getattr(spec, "kv_cache_specs", None)
    return inner.values() if isinstance(inner, dict) else [spec]


def _check_spec(spec: Any) -> None:
    name = type(spec).__name__
    if name not in FULL and name not in WINDOWED:
        raise UnsupportedError(
            f"KV cache groups of type {name} cannot be offloaded (full, MLA and sliding-window attention can): serve "
            "this model without the connector; preempted requests are then recomputed"
        )
    if getattr(spec, "bounded_replay", False) or getattr(spec, "tokens_per_state", 1) != 1:
        raise UnsupportedError(
            f"this model's {name} keeps compressed or replayed KV, which cannot be offloaded: serve it without the "
            "connector"
        )


def block_bytes(kv_cache_config: Any) -> int:
    """Return the bytes of one block over all layers of a rank.

    vLLM places layers in the backing memory by offsets and strides (``layers``), in one tensor per set of layers that
    share it (``shared_by``), or packed into one block (``block_stride``).
    """
    tensors = kv_cache_config.kv_cache_tensors
    if tensors and hasattr(tensors[0], "layers"):
        return int(max(tensor.size for tensor in tensors)) // int(kv_cache_config.num_blocks)
    packed = [tensor.block_stride for tensor in tensors if getattr(tensor, "block_stride", 0)]
    if packed:
        return int(max(packed))
    return int(sum(tensor.size for tensor in tensors)) // int(kv_cache_config.num_blocks)
