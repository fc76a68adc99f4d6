"""Whether the numbers of a model's config.json are numbers: what is none would be left out, and another size given."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import readable
from pd_launch.schemas.memory.sizing_numbers import SizingError

_POSITIVE = (
    *("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "multi_query_group_num", "head_dim"),
    *("hidden_size", "kv_lora_rank", "qk_rope_head_dim", "v_head_dim", "index_head_dim", "full_attention_interval"),
    *("max_position_embeddings", "attn_layer_period", "sliding_window_pattern", "linear_num_key_heads"),
    *("linear_num_value_heads", "linear_key_head_dim", "linear_value_head_dim", "linear_conv_kernel_dim"),
    *("mamba_n_heads", "mamba_num_heads", "mamba_d_head", "mamba_head_dim", "mamba_d_state", "mamba_n_groups"),
    *("mamba_d_conv",),
)
_FROM_ZERO = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", "num_mtp_modules", "index_topk")
_MOST = 10**12
_LAYERS = "num_hidden_layers"
"""Of which there is a lower limit of its own."""
_LONGEST = 40


def refuse_odd_numbers(config: Mapping[str, Any]) -> None:
    """Refuse a config.json in which a size is no number that a size can be; ``null`` is as if it were not there.

    Raises:
        SizingError: it says which one, and what it has to be.
    """
    nested = config.get("text_config")
    text = {**config, **nested} if isinstance(nested, Mapping) else config
    for least, keys in ((1, _POSITIVE), (0, _FROM_ZERO)):
        for key in keys:
            value = text.get(key)
            if value is None or (type(value) is int and least <= value <= (_MOST if key != _LAYERS else value)):
                continue
            written = readable(json.dumps(value)[:_LONGEST])
            raise SizingError(
                Msg(
                    f"{key} of config.json is {written}, and not a whole number from {least} to {_MOST}",
                    f"config.json 中的 {key} 是 {written}，应为 {least} 到 {_MOST} 之间的整数",
                )
            )
