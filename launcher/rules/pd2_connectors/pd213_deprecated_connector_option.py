"""PD213 deprecated-connector-option."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, remove_entry
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target, release
from pd_launch.schemas.engine.kv_transfer import SIZED_CONNECTORS, connectors
from pd_launch.schemas.releases.transfers import NO_ASCEND_DIRECT

OPTION = "use_ascend_direct"

ZH = """
连接器选项在目标版本里没有作用

## 作用

目标版本已不再读取 `use_ascend_direct`（0.13 起），却还写了它时报告；旧版本（0.11 及以前）还需要它，
却没有写时报告为错误。`mooncake_rpc_port` 已由 `lookup_rpc_port` 取代，也会报告。

## 为什么重要

不起作用的选项会让人以为是它打开了直接传输；而旧版本上缺少它，直接传输就真的没有打开。

## 适用版本

vllm-ascend 的所有版本；0.11 是最后一个读取它的版本，0.12 未核实。

## 来源

对各标签代码的检索：从 0.13.0 起没有代码读取它；vllm-ascend 的 PR 7434 从文档中删除了它。
"""


@rule("PD213", "deprecated-connector-option", "info", zh=ZH, needs="C R")
def deprecated_connector_option(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A connector's option has no effect in the target release.

    ## What it does

    Reports `use_ascend_direct` where it is no longer read (from 0.13), and as an error where an old release (up to
    0.11) still needs it and it is missing. `mooncake_rpc_port`, which `lookup_rpc_port` replaces, is reported too.

    ## Why it matters

    The option looks as if it switched on direct transfer, but does nothing; on an old release, direct transfer stays
    off without it.

    ## Example

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer",
      "kv_port": "36000", "kv_connector_extra_config": {"use_ascend_direct": true,
        "prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}'
    ```

    ## Use instead

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer",
      "kv_port": "36000", "kv_connector_extra_config": {
        "prefill": {"dp_size": 1, "tp_size": 1}, "decode": {"dp_size": 1, "tp_size": 1}}}'
    ```

    ## Releases

    All of vllm-ascend; 0.11 is the last release that reads it; 0.12 was not checked.

    ## Sources

    The code at each tag: nothing reads it from 0.13.0 on. Pull request 7434 of vllm-ascend removes it from the
    documentation.
    """
    target = deployment.target
    if not target.is_ascend:
        return
    for connector in connectors(node.kv_transfer):
        option, name = connector.option(OPTION), connector.tree.get("kv_connector")
        if _still_read(target):
            unknown = connector.extra is not None and not connector.extra.known
            if option is None and connector.name in SIZED_CONNECTORS and name is not None and not unknown:
                yield Hit(
                    name.origin,
                    Msg(
                        f"vllm-ascend {target.asked} transfers directly only with {OPTION}",
                        f"vllm-ascend {target.asked} 只有写了 {OPTION} 才会直接传输",
                    ),
                    Msg(
                        f'add "{OPTION}": true to its kv_connector_extra_config',
                        f'在它的 kv_connector_extra_config 里加上 "{OPTION}": true',
                    ),
                    severity="error",
                )
        elif option is not None:
            yield Hit(
                option.key or option.origin,
                Msg(
                    f"{OPTION} has no effect: nothing has read it since 0.13",
                    f"{OPTION} 没有作用：从 0.13 起不再被读取",
                ),
                Msg("remove it", "删掉它"),
                fix=fix(Msg("remove it", "删掉它"), remove_entry(option), safe=True),
            )
        port = connector.option("mooncake_rpc_port")
        if port is not None:
            yield Hit(
                port.key or port.origin,
                Msg(
                    "mooncake_rpc_port is the old name of lookup_rpc_port",
                    "mooncake_rpc_port 是 lookup_rpc_port 的旧名称",
                ),
                Msg("write lookup_rpc_port", "写成 lookup_rpc_port"),
            )


def _still_read(target: Target) -> bool:
    return target.asked is not None and release(target.asked) < release(NO_ASCEND_DIRECT.first)
