"""PD504 spec-tokens-pd."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.compare import differ
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.severity import Severity
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.sides import of_side
from pd_launch.schemas.engine.speculation import config_of, speculative_tokens, tokens_node
from pd_launch.schemas.models.known import model_of

ZH = """
预填充与解码的推测 token 数不合该模型的规则

## 作用

比较两侧的 num_speculative_tokens。混合 Mamba / 线性注意力模型(Qwen3-Next、Qwen3.5 等)两侧必须相等(error);
其他模型不相等时,预填充应为 1、解码不小于 1(warning)。任一侧未知时不报告。

## 为什么重要

推测解码会改变 KV 缓存的布局:混合模型每个请求占 1 + 推测 token 数个状态块,两侧不同就读错位置;其他模型缺了草稿层的 KV,
草稿会变差,或者传输对不上层数。

## 示例

```bash
# file: prefill.sh
vllm serve /models/deepseek-v3.1-w8a8 \\
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000"}'
```

```bash
# file: decode.sh
vllm serve /models/deepseek-v3.1-w8a8 --speculative-config '{"num_speculative_tokens": 3, "method": "deepseek_mtp"}' \\
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36100"}'
```

## 应当这样写

```bash
# file: prefill.sh
vllm serve /models/deepseek-v3.1-w8a8 --speculative-config '{"num_speculative_tokens": 1, "method": "deepseek_mtp"}' \\
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000"}'
```

```bash
# file: decode.sh
vllm serve /models/deepseek-v3.1-w8a8 --speculative-config '{"num_speculative_tokens": 3, "method": "deepseek_mtp"}' \\
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36100"}'
```

## 适用版本

所有版本。

## 来源

vllm-ascend 文档 pd_disaggregation_mooncake_multi_node.md(num_speculative_tokens 一节),0.27.1rc1;代码不检查。
"""


@rule("PD504", "spec-tokens-pd", "warning", zh=ZH, needs="P")
def spec_tokens_pd(deployment: Deployment) -> Iterator[Hit]:
    r"""The speculative tokens of prefill and decode break the rule of the model's family.

    ## What it does

    Compares num_speculative_tokens of both sides. Models with Mamba or linear-attention layers (Qwen3-Next, Qwen3.5 and
    their like) need the same number on both (error); for others that differ, prefill should have 1 and decode at
    least 1 (warning). Silent where a number is unknown.

    ## Why it matters

    Speculation changes the layout of the KV cache: a hybrid model has 1 + speculative tokens state blocks for each
    request, read at the wrong place when the sides differ; other models lack the draft layer's KV, so drafts get
    worse or the layers of the two sides do not match.

    ## Example

    ```bash
    # file: prefill.sh
    vllm serve /models/deepseek-v3.1-w8a8 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000"}'
    ```

    ```bash
    # file: decode.sh
    vllm serve /models/deepseek-v3.1-w8a8 --speculative-config \
      '{"num_speculative_tokens": 3, "method": "deepseek_mtp"}' \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36100"}'
    ```

    ## Use instead

    ```bash
    # file: prefill.sh
    vllm serve /models/deepseek-v3.1-w8a8 --speculative-config \
      '{"num_speculative_tokens": 1, "method": "deepseek_mtp"}' \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000"}'
    ```

    ```bash
    # file: decode.sh
    vllm serve /models/deepseek-v3.1-w8a8 --speculative-config \
      '{"num_speculative_tokens": 3, "method": "deepseek_mtp"}' \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36100"}'
    ```

    ## Releases

    All.

    ## Sources

    vllm-ascend's pd_disaggregation_mooncake_multi_node.md (num_speculative_tokens) at 0.27.1rc1; no code checks it.
    """
    for prefill in of_side(deployment, "prefill"):
        for decode in of_side(deployment, "decode"):
            yield from _pair(prefill, decode)


def _pair(prefill: NodeLaunch, decode: NodeLaunch) -> Iterator[Hit]:
    first, second = speculative_tokens(prefill), speculative_tokens(decode)
    if first is None or second is None or not differ(first, second):
        return
    facts = model_of(decode) or model_of(prefill)
    hybrid = facts is not None and facts.hybrid is True
    if not hybrid and first == 1 and second >= 1:
        return
    severity: Severity = "error" if hybrid else "warning"
    rule, rule_zh = "prefill has 1 and decode at least 1", "预填充为 1,解码不小于 1"
    advice, advice_zh = (
        "write num_speculative_tokens 1 with the same method on prefill, or no speculation on either side",
        "预填充用同样的方法并写 num_speculative_tokens 1,或两侧都不用推测解码",
    )
    if hybrid:
        assert facts is not None
        rule, rule_zh = f"{facts.family} needs the same number on both sides", f"{facts.family} 要求两侧相同"
        advice, advice_zh = "write the same num_speculative_tokens on both sides", "两侧写相同的 num_speculative_tokens"
    yield Hit(
        _place(decode),
        Msg(
            f"{first} speculative tokens on prefill, {second} on decode: {rule}",
            f"预填充的推测 token 数是 {first},解码是 {second}:{rule_zh}",
        ),
        Msg(advice, advice_zh),
        severity=severity,
        related=((_place(prefill), Msg("the prefill side", "预填充一侧")),),
    )


def _place(node: NodeLaunch) -> Origin:
    number, config = tokens_node(node), config_of(node)
    if number is not None:
        return number.origin
    return config.origin if config is not None else node.origin
