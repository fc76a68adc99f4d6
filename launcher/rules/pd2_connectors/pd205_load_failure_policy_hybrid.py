"""PD205 load-failure-policy-hybrid."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, set_value
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.transfers import HYBRID_RECOMPUTE

ZH = """
混合模型不支持 kv_load_failure_policy "recompute"

## 作用

当顶层的 `kv_load_failure_policy` 为 `recompute`，而模型含有 Mamba 或线性注意力层时报告。

## 为什么重要

vllm-ascend 会在启动时用断言拒绝这个组合，因为混合模型的状态无法从中途重新计算。

## 适用版本

vllm-ascend <since hybrid-refuses-load-recompute> 起。

## 来源

vllm_ascend/platform.py（0.21.0rc1 第 831 行，0.27.1rc1 第 928–934 行）。
"""


@rule("PD205", "load-failure-policy-hybrid", "error", zh=ZH, needs="C R")
def load_failure_policy_hybrid(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A hybrid model does not support kv_load_failure_policy "recompute".

    ## What it does

    Fires when the top level's `kv_load_failure_policy` is `recompute` and the model has Mamba or linear-attention
    layers.

    ## Why it matters

    vllm-ascend refuses the pair at start with an assertion, because a hybrid model's state cannot be recomputed from
    the middle.

    ## Example

    ```bash
    # target: 0.25.1rc1
    vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct --kv-transfer-config '{"kv_connector": "AscendStoreConnector",
      "kv_role": "kv_both", "kv_load_failure_policy": "recompute"}'
    ```

    ## Use instead

    ```bash
    # target: 0.25.1rc1
    vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct --kv-transfer-config '{"kv_connector": "AscendStoreConnector",
      "kv_role": "kv_both", "kv_load_failure_policy": "fail"}'
    ```

    ## Releases

    vllm-ascend from <since hybrid-refuses-load-recompute>.

    ## Sources

    vllm_ascend/platform.py at 0.21.0rc1 (line 831) and 0.27.1rc1 (928-934).
    """
    policy = node.kv_transfer.get("kv_load_failure_policy") if node.kv_transfer else None
    facts = model_of(node)
    if policy is None or policy.value != "recompute" or facts is None or not facts.hybrid:
        return
    if not HYBRID_RECOMPUTE.holds(deployment.target):
        return
    yield Hit(
        policy.origin,
        Msg(
            f'kv_load_failure_policy "recompute" with a hybrid model ({facts.family}): refused at start',
            f'kv_load_failure_policy "recompute" 与混合模型（{facts.family}）一起使用：启动时会被拒绝',
        ),
        Msg('remove it or write "fail"', '删掉它，或者写成 "fail"'),
        fix=fix(Msg("write fail", "写成 fail"), set_value(policy, "fail")),
    )
