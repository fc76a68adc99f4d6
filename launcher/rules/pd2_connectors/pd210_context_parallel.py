"""PD210 context-parallel."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.kv_transfer import Connector
from pd_launch.schemas.engine.running import running
from pd_launch.schemas.releases.connector_options import CONTEXT_LIMITS
from pd_launch.schemas.releases.features import RENAMED
from pd_launch.schemas.releases.offloads import BUILTIN
from pd_launch.schemas.releases.transfers import V1_PCP_ON_PREFILL

DCP, PCP = "decode-context-parallel-size", "prefill-context-parallel-size"
INTERLEAVE = "cp-kv-cache-interleave-size"

ZH = """
连接器不支持上下文并行

## 作用

当 DCP 或 PCP 大于 1，而目标版本的卸载连接器或 P/D 连接器不支持时报告：卸载连接器（内置的在 0.27 及以前两者都不支持，
从 0.28.0rc1 起仅不支持 PCP；附带的两者都不支持）、MooncakeHybridConnector、
解码节点（包括 `kv_both`）上带 PCP 的 MooncakeLayerwiseConnector，
从 <since v1-pcp-on-prefill> 起解码节点上带 PCP 的 MooncakeConnectorV1，以及 vLLM 的以下连接器：
<until offloading-lacks-context-parallelism> 之前带 DCP 的 OffloadingConnector（包括 `--kv-offloading-size` 带来的），
<until simple-offload-lacks-context-parallelism> 之前的 SimpleCPUOffloadConnector，
从 <since nixl-push-refuses-dcp> 起带 DCP 的 NixlPushConnector，
以及从 <since nixl-pcp-on-prefill> 起不是 `kv_producer` 却带 PCP 的 NixlConnector。
在 vllm-ascend 上，有 `--kv-transfer-config` 时还要求 `--cp-kv-cache-interleave-size` 等于块大小。

## 为什么重要

这些组合会让引擎因断言失败而退出，卸载连接器的断言甚至没有任何说明：多数在启动时退出，
OffloadingConnector 则在处理第一个请求时退出。

## 适用版本

vllm-ascend 的所有版本；卸载连接器见上。

## 来源

vllm-ascend 的 recompute_cpu_offload/manager.py（0.23.0、0.27.1rc1）、
mooncake_hybrid_connector.py（0.26.0rc1 第 1196 行）、
mooncake_layerwise_connector.py（0.18.0 第 735 行）、mooncake_connector.py（0.30.0rc2 第 2153 行）、
platform.py 的 _validate_sfa_dcp_kv_sp。
"""


@rule("PD210", "context-parallel", "error", zh=ZH, needs="C R")
def context_parallel(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A connector does not support context parallelism.

    ## What it does

    Fires when DCP or PCP is above 1 and the offload or P/D connector does not support it in the target: the offload
    connector (the built-in one supports neither up to 0.27 and no PCP from 0.28.0rc1, the bundled one supports
    neither), MooncakeHybridConnector, and MooncakeLayerwiseConnector with PCP on a decode node (`kv_both` included),
    from <since v1-pcp-on-prefill> also MooncakeConnectorV1 with PCP on a decode node. On vllm-ascend, with a
    `--kv-transfer-config`, `--cp-kv-cache-interleave-size` must also be the block size. Of vLLM's own connectors it
    reports OffloadingConnector (also by `--kv-offloading-size`) with DCP before <until
    offloading-lacks-context-parallelism>, SimpleCPUOffloadConnector before <until
    simple-offload-lacks-context-parallelism>, NixlPushConnector with DCP from <since nixl-push-refuses-dcp>, and
    NixlConnector with PCP unless it is a `kv_producer` from <since nixl-pcp-on-prefill>.

    ## Why it matters

    Each of these stops the engine with an assertion, and the offload connector's says nothing at all: at start, or,
    with OffloadingConnector, at the first request.

    ## Example

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --tensor-parallel-size 8 --decode-context-parallel-size 8 --block-size 128 \
      --cp-kv-cache-interleave-size 128 --kv-transfer-config '{"kv_connector": "MooncakeHybridConnector",
        "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {
          "prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
    ```

    ## Use instead

    ```bash
    # target: 0.26.0rc1
    vllm serve /models/m --tensor-parallel-size 8 --decode-context-parallel-size 8 --block-size 128 \
      --cp-kv-cache-interleave-size 128 --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1",
        "kv_role": "kv_consumer", "kv_port": "36000", "kv_connector_extra_config": {
          "prefill": {"dp_size": 1, "tp_size": 8}, "decode": {"dp_size": 1, "tp_size": 8}}}'
    ```

    ## Releases

    All of vllm-ascend; for the offload connector see above.

    ## Sources

    vllm-ascend's recompute_cpu_offload/manager.py at 0.23.0 and 0.27.1rc1, mooncake_hybrid_connector.py (line 1196 at
    0.26.0rc1), mooncake_layerwise_connector.py (line 735 at 0.18.0), mooncake_connector.py (line 2153 at 0.30.0rc2),
    platform.py's _validate_sfa_dcp_kv_sp. vLLM's nixl/connector.py at 0.29.0 to 0.33.0 and simple_kv_offload/manager.py
    at 0.19.1 to 0.24.0; vLLM pull request 41549.
    """
    sizes = {flag: node.number(flag, 1) for flag in (DCP, PCP)}
    used = {flag: size for flag, size in sizes.items() if size is not None and size > 1}
    if not used:
        return
    for connector in running(node, deployment.target):
        for flag, size in used.items():
            if flag in _refused(connector, node.role, deployment.target):
                yield Hit(
                    _place(node, flag),
                    Msg(
                        f"--{flag} {size}: {connector.name} supports only 1 in {deployment.target}",
                        f"--{flag} {size}：{deployment.target} 的 {connector.name} 只支持 1",
                    ),
                    Msg(f"remove --{flag}, or use another connector", f"删掉 --{flag}，或换一个连接器"),
                )
    if deployment.target.is_ascend and node.kv_transfer is not None and None not in sizes.values():
        yield from _interleave(node)


def _refused(connector: Connector, role: str | None, target: Target) -> tuple[str, ...]:
    """Return the flags that must be 1 with this connector."""
    if connector.bundled_in(target):
        return (DCP, PCP)
    if connector.is_builtin_offload and BUILTIN.holds(target):
        return (PCP,) if RENAMED.holds(target) else (DCP, PCP)
    if target.is_ascend and connector.name == "MooncakeHybridConnector":
        return (DCP, PCP)
    if target.is_ascend and connector.name == "MooncakeLayerwiseConnector" and role in ("kv_consumer", "kv_both"):
        return (PCP,)
    if connector.name == "MooncakeConnectorV1" and role == "kv_consumer" and V1_PCP_ON_PREFILL.holds(target):
        return (PCP,)
    if target.is_ascend or connector.tree.get("kv_connector_module_path") is not None:
        return ()
    own = connector.text("kv_role") or role
    limits = [limit for limit in CONTEXT_LIMITS if connector.name in limit.connectors and limit.fact.holds(target)]
    return tuple(flag for limit in limits if not limit.roles or own in limit.roles for flag in limit.flags)


def _interleave(node: NodeLaunch) -> Iterator[Hit]:
    block, interleave = node.number("block-size", 128), node.number(INTERLEAVE, 1)
    if block is None or interleave is None or block == interleave:
        return
    flag = INTERLEAVE if node.arg(INTERLEAVE) else DCP if node.arg(DCP) else PCP
    yield Hit(
        _place(node, flag),
        Msg(
            f"--{INTERLEAVE} is {interleave} and the block size {block}: with context parallelism and a "
            "--kv-transfer-config they must be equal",
            f"--{INTERLEAVE} 是 {interleave}，块大小是 {block}：上下文并行加 --kv-transfer-config 时两者必须相等",
        ),
        Msg(f"add --{INTERLEAVE} {block}", f"加上 --{INTERLEAVE} {block}"),
    )


def _place(node: NodeLaunch, flag: str) -> Origin:
    arg = node.arg(flag)
    if arg is None:
        return node.origin
    return arg.value.origin if arg.value is not None else arg.origin
