"""PD502 batched-tokens-high."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.places import at, seen
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.sides import side_of
from pd_launch.schemas.engine.speculation import step_tokens

ZH = """
解码节点的 max_num_batched_tokens 远大于需要

## 作用

当解码节点的 --max-num-batched-tokens 不小于 2048，且不小于 max_num_seqs ×（1 + 推测 token 数）的 16 倍时提示。

## 为什么重要

引擎按 max_num_batched_tokens 预留激活值和通信缓冲区：解码时用不到的部分，会占掉本来可以存放 KV 的设备内存，
使抢占更早发生。

## 适用版本

所有版本。

## 来源

指南：解码节点的 max_num_batched_tokens 约为 max_num_seqs ×（1 + num_speculative_tokens）。
"""

LEAST = 2048
TIMES = 16


@rule("PD502", "batched-tokens-high", "info", zh=ZH)
def batched_tokens_high(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A decode node's max_num_batched_tokens is far above what it needs.

    ## What it does

    Fires when --max-num-batched-tokens of a decode node is at least 2048 and at least 16 times max_num_seqs × (1 +
    speculative tokens).

    ## Why it matters

    The engine reserves activations and communication buffers for max_num_batched_tokens: what decoding never uses takes
    device memory from the KV cache, so preemption starts earlier.

    ## Example

    ```bash
    vllm serve /models/m --max-num-seqs 32 --max-num-batched-tokens 16384 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --max-num-seqs 32 --max-num-batched-tokens 32 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ## Releases

    All.

    ## Sources

    The guides: max_num_batched_tokens of a decode node is about max_num_seqs × (1 + num_speculative_tokens).
    """
    batched, need = node.number("max-num-batched-tokens", 0), step_tokens(node)
    if side_of(node) != "decode" or not batched or need is None or batched < max(LEAST, TIMES * need):
        return
    yield Hit(
        at(node, "max-num-batched-tokens"),
        Msg(
            f"max_num_batched_tokens is {batched} on a decode node whose full step has {need} tokens",
            f"解码节点满载时一步只有 {need} 个 token，max_num_batched_tokens 却是 {batched}",
        ),
        Msg(
            f"{need} is enough; if this node also prefills (recomputes prompts), keep what that needs",
            f"{need} 就够了；如果本节点也做预填充（重新计算提示词），请按预填充的需要保留",
        ),
        related=seen(node, "max-num-seqs", "max_num_seqs", "max_num_seqs"),
    )
