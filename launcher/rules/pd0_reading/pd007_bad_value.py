"""PD007 bad-value."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules import value_checks
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.rules.table_values import table_values
from pd_launch.schemas.launch import Deployment, NodeLaunch
from pd_launch.schemas.values import Origin

CHECKS = (
    value_checks.flag_values,
    value_checks.kv_values,
    value_checks.offload_values,
    value_checks.additional_values,
    value_checks.other_json_values,
    table_values,
)

ZH = r"""
值的类型不对,或超出取值范围

## 作用

检查端口、并行规模、固定取值的选项、卸载连接器自己的选项(例如写成 `16GiB` 或 `1e9` 的预算、写成文本的布尔值),
以及 `--additional-config` 里写成文本的布尔值。

## 为什么重要

引擎会在启动时拒绝这个值,或者读到与您所写不同的值:在选项有类型之前,文本 `false` 会被当成真。

## 示例

```bash
# target: 0.23.0
vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
  --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
    "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": "16GiB"}}'
```

## 应当这样写

```bash
# target: 0.23.0
vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
  --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
    "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
```

## 适用版本

所有版本;`--additional-config` 里写成文本的布尔值,到 vllm-ascend 0.27 为止。

## 来源

vllm/config,0.23.0、0.27.1 和 0.32.0;vllm_ascend 的卸载连接器与 ascend_config.py,0.18.0 到 0.26.0rc1;
附带连接器的启动检查。
"""


@rule("PD007", "bad-value", "error", zh=ZH, needs="C R")
def bad_value(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A value of the wrong type, or outside its domain.

    ## What it does

    Looks at ports, parallel sizes, words of a fixed choice, the offload connector's own options (a budget such as
    `16GiB` or `1e9`, a boolean as text) and booleans of `--additional-config` that are written as text.

    ## Why it matters

    The engine refuses the value at start, or reads another one than you wrote: before options have types, the text
    `false` counts as true.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": "16GiB"}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve /models/m --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ## Releases

    All; text as a boolean of `--additional-config` up to vllm-ascend 0.27.

    ## Sources

    vllm/config at 0.23.0, 0.27.1 and 0.32.0; vllm_ascend's offload connector and ascend_config.py, 0.18.0 to
    0.26.0rc1; the bundled connector's checks at start.
    """
    said: set[Origin] = set()  # the checks overlap: the first has most to say of a place
    for check in CHECKS:
        for hit in check(node, deployment):
            if hit.origin not in said:
                said.add(hit.origin)
                yield hit
