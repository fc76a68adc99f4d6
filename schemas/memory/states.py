"""The states that Mamba and linear-attention layers keep, from a model's config.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

DTYPE_BYTES = {"bfloat16": 2, "float16": 2, "half": 2, "float32": 4, "float": 4}


class State(NamedTuple):
    """The state of a Mamba or linear-attention layer: shapes for a TP size and drafts a step, and element sizes."""

    shapes: Callable[[int, int], Sequence[Sequence[int]]]
    element_bytes: tuple[int, ...]

    def page_bytes(self, tensor: int, drafts: int, recurrent: int | None = None) -> int:
        """Return the bytes of one state on one rank; ``recurrent`` replaces the last element size."""
        shapes = self.shapes(tensor, drafts)
        sizes = self.element_bytes if recurrent is None else (*self.element_bytes[:-1], recurrent)
        return sum(prod(shape) * size for shape, size in zip(shapes, sizes, strict=True))


def integer_of(config: Mapping[str, Any], key: str) -> int | None:
    """Return a whole number of a config.json; None where there is none."""
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def state_of(text: Mapping[str, Any], family: str, element: int) -> State | None:
    """Return the state of the model's other layers, or None where its architecture is not known."""
    second = element
    if family == "qwen3.5":
        second = DTYPE_BYTES.get(str(text.get("mamba_ssm_dtype") or ""), element)
    elif family.startswith("nemotron"):
        second = DTYPE_BYTES.get(str(text.get("mamba_ssm_cache_dtype") or "float32"), element)
    if integer_of(text, "linear_num_value_heads"):
        return _delta_net(text, (element, second))
    if integer_of(text, "mamba_n_heads") or integer_of(text, "mamba_num_heads"):
        return _mamba2(text, (element, second))
    if integer_of(text, "mamba_d_state") and integer_of(text, "hidden_size"):
        return _mamba1(text, (element, element))
    if family.startswith("minimax"):
        heads, size = integer_of(text, "num_attention_heads") or 1, integer_of(text, "head_dim") or 1
        return State(lambda tensor, _: [(heads // tensor, size, size)], (4,))
    return None


def _delta_net(text: Mapping[str, Any], sizes: tuple[int, ...]) -> State:
    keys, values = integer_of(text, "linear_num_key_heads") or 1, integer_of(text, "linear_num_value_heads") or 1
    key, value = integer_of(text, "linear_key_head_dim") or 128, integer_of(text, "linear_value_head_dim") or 128
    kernel = integer_of(text, "linear_conv_kernel_dim") or 4
    width = 2 * key * keys + value * values

    def shapes(tensor: int, drafts: int) -> list[tuple[int, ...]]:
        return [(width // tensor, kernel - 1 + drafts), (values // tensor, value, key)]

    return State(shapes, sizes)


def _mamba2(text: Mapping[str, Any], sizes: tuple[int, ...]) -> State:
    heads = integer_of(text, "mamba_n_heads") or integer_of(text, "mamba_num_heads") or 1
    size = integer_of(text, "mamba_d_head") or integer_of(text, "mamba_head_dim") or 64
    state = integer_of(text, "mamba_d_state") or integer_of(text, "ssm_state_size") or 128
    groups = integer_of(text, "mamba_n_groups") or integer_of(text, "n_groups") or 1
    kernel = integer_of(text, "mamba_d_conv") or integer_of(text, "conv_kernel") or 4

    def shapes(tensor: int, drafts: int) -> list[tuple[int, ...]]:
        held = groups if groups % tensor == 0 else tensor
        width = heads * size + 2 * held * state
        return [(width // tensor, kernel - 1 + drafts), (heads // tensor, size, state)]

    return State(shapes, sizes)


def _mamba1(text: Mapping[str, Any], sizes: tuple[int, ...]) -> State:
    inner = (integer_of(text, "mamba_expand") or 2) * (integer_of(text, "hidden_size") or 1)
    state, kernel = integer_of(text, "mamba_d_state") or 16, integer_of(text, "mamba_d_conv") or 4
    return State(lambda tensor, _: [(inner // tensor, kernel - 1), (inner // tensor, state)], sizes)
