"""PD504 spec-tokens-pd."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.compare import differ
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.severity import Severity
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.nixl import WITHOUT_KV, hashed_method, hashes_count
from pd_launch.schemas.engine.sides import of_side
from pd_launch.schemas.engine.speculation import config_of, method, speculative_tokens, tokens_node
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.handshake import HASHES_DRAFTS

ZH = """
预填充与解码的推测 token 数不符合模型的要求

## 作用

比较两侧的 num_speculative_tokens。混合 Mamba / 线性注意力模型（Qwen3-Next、Qwen3.5 等）两侧必须相等（错误）；
其他模型不相等时，预填充应为 1、解码不小于 1（警告）。不在 KV 缓存里增加层的方法（ngram、suffix 等）不比较。
两侧使用 NixlConnector 时，比较的是推测方法（MTP、EAGLE 等）：只有一侧启用，或者两侧不同，都是错误；token 数可以不同。
任一侧未知时不报告。

## 为什么重要

推测解码会改变 KV 缓存的布局：混合模型每个请求占用（1 + 推测 token 数）个状态块，两侧不同就会读错位置；
其他模型缺少草稿层的 KV，草稿质量会变差，或者传输时层数对不上。

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

所有版本；NixlConnector 从 vLLM <since nixl-hashes-drafts> 起比较方法。

## 来源

vLLM 的 nixl/metadata.py 中的兼容性哈希，0.28.0 到 0.33.0（0.32.0 上运行过）；
vllm-ascend 文档 pd_disaggregation_mooncake_multi_node.md（num_speculative_tokens 一节），0.27.1rc1；代码不检查。
"""


@rule("PD504", "spec-tokens-pd", "warning", zh=ZH, needs="P R")
def spec_tokens_pd(deployment: Deployment) -> Iterator[Hit]:
    r"""The speculative tokens of prefill and decode break the rule of the model's family.

    ## What it does

    Compares num_speculative_tokens of both sides. Models with Mamba or linear-attention layers (Qwen3-Next, Qwen3.5 and
    similar) need the same number on both (error); for others that differ, prefill should have 1 and decode at least 1
    (warning). Methods without layers in the KV cache (ngram, suffix) do not count. Over NixlConnector it is the method
    that must be the same (MTP, EAGLE and similar): on one side only, or a different one, is an error, and the numbers
    may differ. Silent where something is unknown.

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

    All; NixlConnector compares the method from vLLM <since nixl-hashes-drafts> on.

    ## Sources

    The compatibility hash in vLLM's nixl/metadata.py at 0.28.0 to 0.33.0, run at 0.32.0;
    vllm-ascend's pd_disaggregation_mooncake_multi_node.md (num_speculative_tokens) at 0.27.1rc1; no code checks it.
    """
    for prefill in of_side(deployment, "prefill"):
        for decode in of_side(deployment, "decode"):
            yield from _pair(prefill, decode, deployment.target)


def _hashed(prefill: NodeLaunch, decode: NodeLaunch) -> Iterator[Hit]:
    """Yield drafts that NixlConnector's hash tells apart: how many there are is not in it."""
    first, second = hashed_method(prefill), hashed_method(decode)
    if first is None or second is None or not differ(first, second):
        return
    left, right = first or "none", second or "none"
    yield Hit(
        _place(decode if second else prefill),
        Msg(
            f"NixlConnector compares draft methods that use hidden states: {right} on decode, {left} on prefill",
            f"NixlConnector 会比较使用隐藏状态的推测方法：解码是 {right}，预填充是 {left}",
        ),
        Msg(
            "write the same method and model in --speculative-config on both sides; the number of tokens may differ",
            "两侧的 --speculative-config 写相同的方法与模型；token 数可以不同",
        ),
        severity="error",
        related=((_place(prefill if second else decode), Msg("the other side", "另一侧")),),
    )


def _kv_tokens(node: NodeLaunch, hybrid: bool) -> int | None:
    """Return the draft tokens that matter to the other side: without layers in the cache they do not, except for the
    state blocks of a hybrid model."""
    return 0 if not hybrid and method(node) in WITHOUT_KV else speculative_tokens(node)


def _pair(prefill: NodeLaunch, decode: NodeLaunch, target: Target) -> Iterator[Hit]:
    facts = model_of(decode) or model_of(prefill)
    hybrid = facts is not None and facts.hybrid is True
    if HASHES_DRAFTS.holds(target) and hashes_count(prefill, decode, target):
        found = list(_hashed(prefill, decode))
        yield from found
        if found or not hybrid:
            return
    first, second = _kv_tokens(prefill, hybrid), _kv_tokens(decode, hybrid)
    if first is None or second is None or not differ(first, second):
        return
    if not hybrid and first == 1 and second >= 1:
        return
    severity: Severity = "error" if hybrid else "warning"
    rule, rule_zh = "prefill has 1 and decode at least 1", "预填充为 1，解码不小于 1"
    advice, advice_zh = (
        "write num_speculative_tokens 1 with the same method on prefill, or disable speculation on both sides",
        "预填充用同样的方法并写 num_speculative_tokens 1，或两侧都不用推测解码",
    )
    if hybrid:
        assert facts is not None
        rule, rule_zh = f"{facts.family} needs the same number on both sides", f"{facts.family} 要求两侧相同"
        advice, advice_zh = "write the same num_speculative_tokens on both sides", "两侧写相同的 num_speculative_tokens"
    yield Hit(
        _place(decode),
        Msg(
            f"{first} speculative tokens on prefill, {second} on decode: {rule}",
            f"预填充的推测 token 数是 {first}，解码是 {second}：{rule_zh}",
        ),
        Msg(advice, advice_zh),
        severity=severity,
        related=((_place(prefill), Msg("the prefill side", "预填充侧")),),
    )


def _place(node: NodeLaunch) -> Origin:
    number, config = tokens_node(node), config_of(node)
    if number is not None:
        return number.origin
    return config.origin if config is not None else node.origin
