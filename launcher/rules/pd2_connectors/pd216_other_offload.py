"""PD216 other-offload."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.engine.offload import offloads

OTHER = frozenset({"OffloadingConnector", "SimpleCPUOffloadConnector", "CPUOffloadingConnector"})
FLAGS = {
    "kv-offloading-size": ("keeps prefixes of finished requests", "保存的是已结束请求的前缀"),
    "cpu-offload-gb": ("moves model weights, not KV", "卸载的是模型权重，不是 KV"),
    "cpu-offload-params": ("moves model weights, not KV", "卸载的是模型权重，不是 KV"),
}

ZH = """
这是另一种 CPU 卸载

## 作用

当节点使用其他 CPU 卸载（OffloadingConnector、SimpleCPUOffloadConnector、`--kv-offloading-size`、`--cpu-offload-gb`）
而没有抢占卸载连接器时提示。预填充节点除外。

## 为什么重要

名称相近的选项并不保存被抢占请求的 KV：前缀卸载保存的是可复用的前缀，`--cpu-offload-gb` 卸载的是权重。

## 适用版本

所有版本。

## 来源

vLLM 的 config/vllm.py 与 v1/kv_offload（0.27.1、0.32.0）；vllm-ascend 的卸载指南的常见问题。
"""


@rule("PD216", "other-offload", "info", zh=ZH)
def other_offload(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""This is a different kind of CPU offload.

    ## What it does

    Fires when a node uses another CPU offload (OffloadingConnector, SimpleCPUOffloadConnector, `--kv-offloading-size`,
    `--cpu-offload-gb`) and no preemption offload. Not on prefill nodes.

    ## Why it matters

    Options with similar names do not keep the KV of preempted requests: a prefix offload keeps reusable prefixes, and
    `--cpu-offload-gb` moves weights.

    ## Example

    ```bash
    # target: vllm==0.32.0
    vllm serve /models/m --cpu-offload-gb 16
    ```

    ## Use instead

    ```bash
    # target: vllm==0.32.0
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector",
      "kv_connector_module_path": "pd_launch.connector", "kv_role": "kv_both",
      "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ## Releases

    All.

    ## Sources

    vLLM's config/vllm.py and v1/kv_offload at 0.27.1 and 0.32.0; the questions in vllm-ascend's offload guide.
    """
    if offloads(node) or node.role == "kv_producer" or node.side == "prefill":
        return
    for connector in connectors(node.kv_transfer):
        name = connector.tree.get("kv_connector")
        if connector.name in OTHER and name is not None:
            yield _hit(name.origin, connector.name or "", "keeps prefixes of requests", "保存的是请求的前缀")
    for flag, (en, zh) in FLAGS.items():
        arg = node.arg(flag)
        if arg is not None and arg.value is not None and arg.value.known and arg.value.value not in (0, "0", "0.0"):
            yield _hit(arg.origin, f"--{flag}", en, zh)


def _hit(origin: Origin, what: str, en: str, zh: str) -> Hit:
    return Hit(
        origin,
        Msg(f"{what} {en}; it does not keep the KV of preempted requests", f"{what}：{zh}，不保存被抢占请求的 KV"),
        Msg(
            "for preempted requests use the preemption offload connector; otherwise leave it as it is",
            "要保存被抢占的请求，请用抢占卸载连接器；没有这个需要就不用改",
        ),
    )
