"""PD109 recompute-without-offload."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch, Proxy
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.severity import Severity
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.additional import switch_of
from pd_launch.schemas.engine.kv_transfer import BUNDLED_MODULE, connectors, offload_name
from pd_launch.schemas.releases.proxies import RETRIES

ZH = """
打开了重计算调度器，但没有卸载连接器

## 作用

当解码节点打开了重计算调度器，而连接器里没有卸载连接器时说明后果（提示）。如果输入里启动的代理都不理解 stop_reason
`recomputed`，则报告为警告。

## 为什么重要

每个被抢占的请求都会被结束并交还给代理：没有配合的代理，客户端会收到被截断的回答；有配合的代理，也要重新做一次预填充。

## 适用版本

vllm-ascend 的所有版本。

## 来源

vllm_ascend/core/recompute_scheduler.py（`_add_recomputed_outputs`），0.18.0 到 0.26.0rc1；
vllm-ascend 与 vLLM 的示例代理。
"""


@rule("PD109", "recompute-without-offload", "info", zh=ZH, needs="C P R")
def recompute_without_offload(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The recompute scheduler is on, but no offload connector is configured.

    ## What it does

    Says what follows when a decode node has the recompute scheduler on and no offload connector (info). A warning when
    proxies are started in the input and none of them understands the stop_reason `recomputed`.

    ## Why it matters

    Each preempted request is ended and handed back to the proxy: without one that cooperates clients get answers that
    are cut short, and with one the prompt goes through prefill again.

    ## Example

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}}' \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ## Use instead

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}}' \
      --kv-transfer-config '{"kv_connector": "MultiConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": {
        "connectors": [
          {"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"},
          {"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
           "kv_connector_module_path": "pd_launch.connector",
           "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}]}}'
    ```

    ## Releases

    All of vllm-ascend.

    ## Sources

    vllm_ascend/core/recompute_scheduler.py (`_add_recomputed_outputs`), 0.18.0 to 0.26.0rc1; the example proxies of
    vllm-ascend and vLLM.
    """
    switch = switch_of(node.additional, deployment.target)
    if not deployment.target.is_ascend or not switch.on or switch.read is None or node.role != "kv_consumer":
        return
    found = connectors(node.kv_transfer)
    if any(c.is_offload or c.name is None for c in found):
        return
    severity: Severity = "info"
    related: tuple[tuple[Origin, Msg], ...] = ()
    message = Msg(
        "no offload connector: each preempted request ends with stop_reason recomputed and goes back to the proxy",
        "没有卸载连接器：每个被抢占的请求都以 stop_reason recomputed 结束并交还给代理",
    )
    if deployment.proxies and all(_ignores(proxy, deployment) for proxy in deployment.proxies):
        severity = "warning"
        message = Msg(
            "no offload connector, and the proxy does not understand stop_reason recomputed: answers of preempted "
            "requests are cut short",
            "没有卸载连接器，而且代理不理解 stop_reason recomputed：被抢占请求的回答会被截断",
        )
        related = tuple((proxy.origin, Msg("the proxy", "代理")) for proxy in deployment.proxies)
    name = offload_name(deployment.target)
    yield Hit(
        switch.read.origin,
        message,
        Msg(
            f"add {name} with kv_connector_module_path {BUNDLED_MODULE} as the last child of a MultiConnector",
            f"在 MultiConnector 的最后加上子连接器 {name}，其 kv_connector_module_path 写 {BUNDLED_MODULE}",
        ),
        severity=severity,
        related=related,
    )


def _ignores(proxy: Proxy, deployment: Deployment) -> bool:
    """Whether the proxy is known not to understand ``recomputed``: by its text where that is an input, or its name."""
    name = proxy.program.rsplit("/", 1)[-1]
    text = next((s.text for path, s in deployment.sources.items() if path.rsplit("/", 1)[-1] == name), None)
    return "recomputed" not in text if text is not None else RETRIES.get(name) is False
