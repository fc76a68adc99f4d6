"""PD206 pd-sizes-missing."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.kv_transfer import connectors

NEEDS_SIZES = frozenset({"MooncakeConnectorV1", "MooncakeHybridConnector"})

ZH = """
P/D 连接器缺少两侧的并行大小

## 作用

检查 MooncakeConnectorV1 和 MooncakeHybridConnector 的 `kv_connector_extra_config` 是否写全了 `prefill` 与 `decode` 的
`dp_size` 和 `tp_size`。

## 为什么重要

缺少任何一个，worker 都会在启动时因断言失败而退出，而且没有任何说明。

## 适用版本

vllm-ascend 的所有版本；MooncakeHybridConnector 从 <since vllm-ascend-registers-MooncakeHybridConnector> 起。

## 来源

vllm_ascend/distributed/kv_transfer/kv_p2p/mooncake_connector.py（0.26.0rc1 第 2157–2172 行）。
"""


@rule("PD206", "pd-sizes-missing", "error", zh=ZH, needs="C R")
def pd_sizes_missing(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A P/D connector is not told the sizes of both sides.

    ## What it does

    Checks that the `kv_connector_extra_config` of MooncakeConnectorV1 and MooncakeHybridConnector has `dp_size` and
    `tp_size` for both `prefill` and `decode`.

    ## Why it matters

    If one of them is missing, every worker stops at start with an assertion that has no message.

    ## Example

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer",
      "kv_port": "36000"}'
    ```

    ## Use instead

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer",
      "kv_port": "36000", "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}'
    ```

    ## Releases

    All of vllm-ascend; MooncakeHybridConnector from <since vllm-ascend-registers-MooncakeHybridConnector>.

    ## Sources

    vllm_ascend/distributed/kv_transfer/kv_p2p/mooncake_connector.py (lines 2157-2172 at 0.26.0rc1).
    """
    if not deployment.target.is_ascend:
        return
    for connector in connectors(node.kv_transfer):
        extra, name = connector.extra, connector.tree.get("kv_connector")
        if (
            connector.name not in NEEDS_SIZES
            or name is None
            or (extra is not None and not isinstance(extra.value, dict))
        ):
            continue
        missing = []
        for side in ("prefill", "decode"):
            sizes = connector.option(side)
            if sizes is not None and not isinstance(sizes.value, dict):
                continue
            missing += [f"{side}.{key}" for key in ("dp_size", "tp_size") if sizes is None or sizes.get(key) is None]
        if missing:
            listed = series(missing)
            yield Hit(
                (extra.key or extra.origin) if extra else name.origin,
                Msg(f"{connector.name} needs {listed.en}", f"{connector.name} 需要 {listed.zh}"),
                Msg(
                    '"prefill": {"dp_size": …, "tp_size": …}, "decode": {…} with the real sizes of both sides',
                    '写上两侧真实的大小："prefill": {"dp_size": …, "tp_size": …}, "decode": {…}',
                ),
            )
