"""PD403 dp-form."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.places import at, seen
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.compare import differ
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.port_range import first_rank
from pd_launch.schemas.engine.sides import group_key, is_unreachable, master_address, own_address
from pd_launch.schemas.releases.stock import START_ZERO

ZH = """
内部、混合与外部数据并行的选项混用错误

## 作用

检查不能同时使用的选项：第一个节点（rank 0）写了 --headless；起始 rank 大于 0，却既没有 --headless 也不是混合负载均衡；
--headless 与 --api-server-count 或 --data-parallel-hybrid-lb 同时使用；写了 --data-parallel-hybrid-lb 却没有
--data-parallel-size-local；外部 DP 的 rank 与大于 1 的本机 DP、起始 rank 或混合负载均衡同时使用；
外部负载均衡没有写 rank。从 vLLM 0.28 起，第一个节点写了起始 rank 0 而组内有 headless 节点时也报告：
它同样会切换为混合负载均衡。

## 为什么重要

vLLM 根据这些选项推断由谁提供 HTTP 服务、由谁建立通信组：混用时会启动失败，或者某个节点悄悄换成另一种形式，
其余节点一直等待。

## 示例

```bash
vllm serve /models/deepseek-v3.1-w8a8 --headless --api-server-count 2 --data-parallel-size 4 \\
  --data-parallel-size-local 2 \\
  --data-parallel-start-rank 2 --data-parallel-address 192.0.2.10 --data-parallel-rpc-port 13389
```

## 适用版本

所有版本。

## 来源

vllm/engine/arg_utils.py（create_engine_config）与 vllm/entrypoints/cli/serve.py，0.23.0、0.27.1、0.32.0。
"""

HYBRID = "data-parallel-hybrid-lb"
EXTERNAL = "data-parallel-external-lb"
LOCAL = "data-parallel-size-local"
START = "data-parallel-start-rank"
RANK = "data-parallel-rank"


@rule("PD403", "dp-form", "error", zh=ZH, needs="C R")
def dp_form(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Options of internal, hybrid and external data parallelism are mixed wrongly.

    ## What it does

    Finds options that cannot be combined: --headless on the first node (rank 0); a start rank above 0 with neither
    --headless nor hybrid load balancing; --headless with --api-server-count or --data-parallel-hybrid-lb;
    --data-parallel-hybrid-lb without --data-parallel-size-local; an external rank with a local size above 1, a start
    rank or hybrid load balancing; external load balancing without a rank. From vLLM 0.28 on also a start rank of 0 on
    the first node while others of the group are headless: there it switches to hybrid load balancing as well.

    ## Why it matters

    From these options vLLM derives who serves HTTP and who sets up the group: mixed, the start fails, or a node
    silently switches to another form and the group is never complete.

    ## Example

    ```bash
    vllm serve /models/deepseek-v3.1-w8a8 --headless --api-server-count 2 --data-parallel-size 4 \
      --data-parallel-size-local 2 --data-parallel-start-rank 2 --data-parallel-address 192.0.2.10 \
      --data-parallel-rpc-port 13389
    ```

    ## Use instead

    ```bash
    vllm serve /models/deepseek-v3.1-w8a8 --headless --data-parallel-size 4 --data-parallel-size-local 2 \
      --data-parallel-start-rank 2 --data-parallel-address 192.0.2.10 --data-parallel-rpc-port 13389
    ```

    ## Releases

    All.

    ## Sources

    vllm/engine/arg_utils.py (create_engine_config) and vllm/entrypoints/cli/serve.py at 0.23.0, 0.27.1 and 0.32.0.
    """
    ignored = node.program == "api_server"  # parsed there, without effect: another rule says so
    if node.switch("headless") and not ignored:
        yield from _headless(node, deployment)
    elif not node.external_dp:
        yield from _serving(node, deployment)
    if node.external_dp or node.switch(EXTERNAL):
        yield from _external(node)


def _headless(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    place = at(node, "headless")
    servers = node.number("api-server-count", 0)
    if servers:
        yield Hit(
            at(node, "api-server-count"),
            Msg(
                f"--api-server-count {servers} with --headless: a headless node starts no API server",
                f"--api-server-count {servers} 与 --headless 同时使用：headless 节点不启动 API 服务",
            ),
            Msg("leave --api-server-count out", "去掉 --api-server-count"),
            related=((place, Msg("headless here", "这里是 headless")),),
        )
    if node.switch(HYBRID):
        yield Hit(
            at(node, HYBRID),
            Msg("hybrid load balancing with --headless", "混合负载均衡与 --headless 同时使用"),
            Msg(
                "with hybrid load balancing every node serves HTTP: leave --headless out",
                "混合负载均衡下每个节点都提供 HTTP 服务：去掉 --headless",
            ),
            related=((place, Msg("headless here", "这里是 headless")),),
        )
    data, known = node.data, not node.partial and node.number("nnodes", 1) == 1
    if data is not None and data > 1 and first_rank(node) == 0 and known and not _served(node, deployment):
        yield Hit(
            place,
            Msg(
                "the node with rank 0 is headless: no node serves HTTP",
                "rank 0 所在的节点是 headless：没有节点提供 HTTP 服务",
            ),
            Msg(
                f"leave --headless out on the first node, or give this node its --{START}",
                f"第一个节点去掉 --headless，或给本节点写上 --{START}",
            ),
            related=seen(node, START, "its start rank", "它的起始 rank"),
        )


def _served(node: NodeLaunch, deployment: Deployment) -> bool:
    """Whether another node may serve HTTP without ranks of its own: it is there, or all ranks are here."""
    if any(m.number(LOCAL, 1) == 0 and not differ(m.data, node.data) for m in deployment.nodes):
        return True
    address, own = master_address(node), own_address(node)
    elsewhere = address is not None and not is_unreachable(address) and differ(address, own)
    return elsewhere and not differ(node.number(LOCAL, 0), node.data)


def _infers_hybrid(node: NodeLaunch, deployment: Deployment) -> bool:
    """Whether a written start rank alone makes hybrid load balancing; before vLLM 0.28 a start rank of 0 does not.

    On one node with all ranks it stays without effect.
    """
    start, local = node.number(START, -1), node.number(LOCAL, -1)
    if node.switch("headless") or node.partial or local in (None, -1) or local == node.data:
        return False
    return start is not None and (start > 0 or (start == 0 and START_ZERO.holds(deployment.target)))


def _first_start(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """A first node that its start rank of 0 makes hybrid, while others of its group are headless."""
    group = group_key(node)
    headless = [other for other in deployment.nodes if other.switch("headless") and group_key(other) == group]
    if group is None or node.switch(HYBRID) or not headless or not _infers_hybrid(node, deployment):
        return
    yield Hit(
        at(node, START),
        Msg(
            f"--{START} 0 without --headless: this node switches to hybrid load balancing, and refuses headless nodes",
            f"--{START} 0 且没有 --headless：本节点会切换为混合负载均衡，并拒绝 headless 节点",
        ),
        Msg(
            f"leave --{START} out on the first node, or --headless on the others",
            f"第一个节点去掉 --{START}，或其余节点去掉 --headless",
        ),
        related=((at(headless[0], "headless"), Msg("headless here", "这里是 headless")),),
    )


def _hybrid_group(node: NodeLaunch, deployment: Deployment) -> bool:
    """Whether the group's first node is in the input and becomes hybrid, too."""
    group = group_key(node)
    first = [m for m in deployment.nodes if m is not node and group_key(m) == group and first_rank(m) == 0]
    return group is not None and any(m.switch(HYBRID) or _infers_hybrid(m, deployment) for m in first)


def _serving(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    start = first_rank(node)
    hybrid = bool(node.switch(HYBRID))
    if start == 0:
        yield from _first_start(node, deployment)
    multi_port = bool(node.switch("data-parallel-multi-port-external-lb") or node.switch(EXTERNAL))
    if hybrid and node.arg(LOCAL) is None and not node.partial:
        yield Hit(
            at(node, HYBRID),
            Msg(f"--{HYBRID} without --{LOCAL}", f"--{HYBRID} 缺少 --{LOCAL}"),
            Msg(f"set --{LOCAL} to the number of ranks on this node", f"用 --{LOCAL} 指定本节点的 rank 数"),
        )
    ignored = node.switch("headless")  # with the api_server module: another rule says that it does nothing there
    alone = not hybrid and not multi_port and not node.partial and not ignored
    if start and start > 0 and alone and not _hybrid_group(node, deployment):
        yield Hit(
            at(node, START),
            Msg(
                f"--{START} {start} without --headless: this node switches to hybrid load balancing by itself",
                f"--{START} {start} 却没有 --headless：本节点会自行切换为混合负载均衡",
            ),
            Msg(
                f"write --headless, or --{HYBRID} on every node of the group",
                f"写上 --headless，或在这一组的每个节点都写 --{HYBRID}",
            ),
        )


def _external(node: NodeLaunch) -> Iterator[Hit]:
    place = at(node, RANK, EXTERNAL)
    here = ((place, Msg("external DP here", "这里是外部 DP")),)
    local = node.number(LOCAL, 1)
    if local is not None and local != 1:
        yield Hit(
            at(node, LOCAL),
            Msg(
                f"external DP with --{LOCAL} {local}: each command starts one rank",
                f"外部 DP 与 --{LOCAL} {local} 同时使用：每条命令只启动一个 rank",
            ),
            Msg(f"leave --{LOCAL} out, or write 1", f"去掉 --{LOCAL}，或写 1"),
            related=here,
        )
    for flag in (HYBRID, START):
        if node.switch(flag) if flag == HYBRID else node.arg(flag) is not None:
            yield Hit(
                at(node, flag),
                Msg(f"--{flag} with external DP", f"--{flag} 与外部 DP 同时使用"),
                Msg(f"leave --{flag} out, or --{RANK}", f"去掉 --{flag}，或去掉 --{RANK}"),
                related=here,
            )
    if node.switch(EXTERNAL) and not node.external_dp and not node.partial and node.number("nnodes", 1) == 1:
        yield Hit(
            place,
            Msg(f"--{EXTERNAL} without --{RANK}", f"--{EXTERNAL} 缺少 --{RANK}"),
            Msg(f"set --{RANK} to this engine's rank", f"用 --{RANK} 指定本引擎的 rank"),
        )
