"""PD215 offload-prefix-caching."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, set_value
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.budget import PREFIX_CACHING
from pd_launch.schemas.engine.offload import served

ZH = """
打开了主机块的前缀共享

## 作用

当卸载连接器的 `enable_offload_prefix_caching` 为 true 时报告。

## 为什么重要

让前缀相同的请求共享主机块还是实验功能，上游指南要求：除非明确测试前缀共享，否则保持关闭。

## 示例

```bash
# target: 0.23.0
vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \\
  --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
    "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 8589934592, "enable_offload_prefix_caching": true}}'
```

## 应当这样写

```bash
# target: 0.23.0
vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \\
  --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
    "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 8589934592, "enable_offload_prefix_caching": false}}'
```

## 适用版本

所有带卸载连接器的版本。

## 来源

vllm-ascend 的卸载指南（0.23.0 至 0.30.0rc2）：实验功能，默认关闭。
"""


@rule("PD215", "offload-prefix-caching", "warning", zh=ZH, needs="C R")
def offload_prefix_caching(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Prefix sharing of the offload connector is on.

    ## What it does

    Fires when the offload connector's `enable_offload_prefix_caching` is true.

    ## Why it matters

    Sharing host blocks between requests with the same prefix is experimental, and the guide says to leave it off except
    to test it.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 8589934592,
          "enable_offload_prefix_caching": true}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 8589934592,
          "enable_offload_prefix_caching": false}}'
    ```

    ## Releases

    All that have the offload connector.

    ## Sources

    The offload guide of vllm-ascend (0.23.0 to 0.30.0rc2): experimental, off by default.
    """
    for connector in served(node, deployment.target):
        value = connector.option(PREFIX_CACHING)
        if value is None or value.value is not True:
            continue
        yield Hit(
            value.origin,
            Msg(
                "enable_offload_prefix_caching is experimental: requests with the same prefix share host blocks",
                "enable_offload_prefix_caching 是实验功能：前缀相同的请求会共享主机块",
            ),
            Msg("leave it out, or write false", "不要写它，或者写 false"),
            fix=fix(Msg("turn it off", "关掉它"), set_value(value, False)),
        )
