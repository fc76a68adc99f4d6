"""PD112 hook-missing."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.releases.hooks import has_preemption_hook
from pd_launch.schemas.releases.schedulers import HOOK

ZH = """
目标版本不会在抢占时调用卸载连接器

## 作用

当目标是 vllm-ascend 0.22 或更早版本，而配置里有卸载连接器（内置或附带）时报告。

## 为什么重要

这些版本既没有抢占钩子，也从不调用 handle_preemptions：连接器占用内存却什么也保存不了。

## 适用版本

vllm-ascend <before preemption-hook> 及更早版本。

## 来源

vllm_ascend/core/recompute_scheduler.py 与 vllm_ascend/worker/model_runner_v1.py，0.18.0 到 0.26.0rc1。
"""


@rule("PD112", "hook-missing", "error", zh=ZH, needs="C R")
def hook_missing(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The target release does not call the offload connector on preemption.

    ## What it does

    Fires when the target is vllm-ascend 0.22 or older and the offload connector, built in or bundled, is configured.

    ## Why it matters

    These releases have no preemption hook and never call handle_preemptions: the connector takes memory and can save
    nothing.

    ## Example

    ```bash
    # target: 0.22.1rc1
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' --kv-transfer-config '{
      "kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
      "kv_connector_module_path": "pd_launch.connector"}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' --kv-transfer-config '{
      "kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
      "kv_connector_module_path": "pd_launch.connector"}'
    ```

    ## Releases

    vllm-ascend up to <before preemption-hook>.

    ## Sources

    vllm_ascend/core/recompute_scheduler.py and vllm_ascend/worker/model_runner_v1.py, 0.18.0 to 0.26.0rc1.
    """
    target = deployment.target
    if has_preemption_hook(target):
        return
    for connector in connectors(node.kv_transfer):
        if connector.is_offload:
            place = connector.tree.get("kv_connector") or connector.tree
            yield Hit(
                place.origin,
                Msg(
                    f"{target} never calls {connector.name} when it preempts a request",
                    f"{target} 在抢占请求时从不调用 {connector.name}",
                ),
                Msg(
                    f"remove it, or use vllm-ascend {HOOK.first} or newer",
                    f"删掉它，或者使用 vllm-ascend {HOOK.first} 及更新版本",
                ),
            )
