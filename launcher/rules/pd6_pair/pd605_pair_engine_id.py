"""PD605 pair-engine-id."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd6_pair.pairs import PREFILL, pairs
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.compare import same
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.pairs import suffixes_engine_id

ZH = """
两侧的 engine_id 相同

## 作用

比较两侧在 --kv-transfer-config 顶层写的 engine_id。相同时提示；vllm-ascend 0.12 之前报告为错误。

## 为什么重要

对侧按 engine_id 识别引擎：两侧相同曾使接收线程断言失败；从 vllm-ascend 0.12 起会自动加上随机后缀，相同与否不再有影响。

## 适用版本

所有版本；vllm-ascend <since engine-id-suffix> 之前为错误。

## 来源

vllm_ascend/platform.py（engine_id 后缀），0.18.0 到 0.27.1rc1；mooncake_connector.py 的断言。
"""


@rule("PD605", "pair-engine-id", "info", zh=ZH, needs="P R")
def pair_engine_id(deployment: Deployment) -> Iterator[Hit]:
    """Both sides have the same engine_id.

    ## What it does

    Compares the engine_id that prefill and decode write on the top level of --kv-transfer-config. It fires where they
    are equal; before vllm-ascend 0.12 that is an error.

    ## Why it matters

    The other side knows an engine by its engine_id: equal ones made the receiving thread fail, but since vllm-ascend
    0.12 a random suffix is added, so it makes no difference.

    ## Example

    ```bash
    # file: prefill.sh
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer",
      "engine_id": "0"}'
    ```

    ```bash
    # file: decode.sh
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer",
      "engine_id": "0"}'
    ```

    ## Use instead

    ```bash
    # file: prefill.sh
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer"}'
    ```

    ```bash
    # file: decode.sh
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ## Releases

    All; an error before vllm-ascend <since engine-id-suffix>.

    ## Sources

    vllm_ascend/platform.py (the suffix) at 0.18.0 to 0.27.1rc1; the assertion in mooncake_connector.py.
    """
    for prefill, decode in pairs(deployment):
        left = prefill.kv_transfer.get("engine_id") if prefill.kv_transfer else None
        right = decode.kv_transfer.get("engine_id") if decode.kv_transfer else None
        if left is None or right is None or not left.string() or not same(left, right):
            continue
        target = deployment.target
        suffixed = suffixes_engine_id(target)
        old = target.is_ascend and not suffixed
        yield Hit(
            right.origin,
            Msg(
                f"prefill and decode both have engine_id {right.value}"
                + ("; a random suffix makes them differ" if suffixed else ""),
                f"预填充侧与解码侧的 engine_id 都是 {right.value}" + ("；随机后缀会使它们不同" if suffixed else ""),
            ),
            Msg("leave engine_id out", "去掉 engine_id"),
            severity="error" if old else "info",
            related=((left.origin, PREFILL),),
        )
