"""PD402 dp-ranks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pd_launch.launcher.rules.pd4_topology.group_settings import disagreements
from pd_launch.launcher.rules.places import at, seen
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.core.words import series
from pd_launch.schemas.engine.sides import (
    dp_groups,
    exclusive,
    group_key,
    is_unreachable,
    local_ranks,
    master_address,
    side_of,
)

ZH = """
数据并行的 rank 越界、重复或缺失，或同组各节点的设置不同

## 作用

检查每次启动的 rank 是否都在 0 到 DP−1 之间、本机 DP 是否不大于 DP；再把同一组（同侧、同 master 地址与 rpc 端口）
的各节点放在一起，检查 rank 有没有重复或缺失。只给出一个节点的文件时，不算缺失。
launch_online_dp.py 按各次调用启动的 rank 计数，`--dp-address` 是同一个没有赋值的变量时也一样；
rank 数相同的两次调用不能部分重叠。
同一组的节点（地址写成 LeaderWorkerSet 的 `$(LWS_LEADER_ADDRESS)` 也算）还必须写相同的模型、DP/TP/PP 大小、rpc 端口、
dtype、KV 缓存 dtype、连接器与推测解码设置；`--max-model-len` 或 PYTHONHASHSEED 不同则报告为警告。

## 为什么重要

组内每个 rank 必须恰好出现一次：rank 越界的引擎会退出；有重复或缺失时，所有节点都会在建立通信组时一直等待。
并行设置不同的节点会在握手时被拒绝，或使集合通信一直等待。

## 适用版本

所有版本。

## 来源

vllm/config/parallel.py 与 vllm/v1/engine/utils.py，0.23.0、0.27.1、0.32.0。
"""


MOST_RANKS = 65536
"""A larger size is no size of a real group."""


@rule("PD402", "dp-ranks", "error", zh=ZH, needs="C P")
def dp_ranks(deployment: Deployment) -> Iterator[Hit]:
    r"""Data-parallel ranks are outside the group, given twice, or missing, or nodes of a group disagree.

    ## What it does

    Checks that the ranks of each launch lie in [0, DP) and that the local size is not larger than DP. Then it looks at
    all nodes of one group (same side, master address and rpc port): no rank may appear twice, and none may be missing.
    The files of a single node are not reported as incomplete. For launch_online_dp.py, the ranks that its calls start
    are counted, also where `--dp-address` is the same unset variable in all of them; calls for equally many ranks must
    not overlap in part. Nodes that meet at one master (a LeaderWorkerSet's `$(LWS_LEADER_ADDRESS)` too) must also
    agree: on the model, the DP, TP and PP sizes, the rpc port, dtype, KV cache dtype, connector and speculative
    decoding; another `--max-model-len` or PYTHONHASHSEED is a warning.

    ## Why it matters

    Each rank of a group must exist exactly once: a rank outside stops its engine, and if one is missing or given twice,
    all nodes wait for each other while the group is set up. Nodes with other parallel settings are refused in the
    handshake, or leave collective operations waiting.

    ## Example

    ```bash
    vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 4 --data-parallel-size-local 2 \
      --data-parallel-start-rank 3 \
      --headless --data-parallel-address 192.0.2.10 --data-parallel-rpc-port 13389
    ```

    ## Use instead

    ```bash
    vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 4 --data-parallel-size-local 2 \
      --data-parallel-start-rank 2 \
      --headless --data-parallel-address 192.0.2.10 --data-parallel-rpc-port 13389
    ```

    ## Releases

    All.

    ## Sources

    vllm/config/parallel.py and vllm/v1/engine/utils.py at 0.23.0, 0.27.1 and 0.32.0.
    """
    wrong: set[int] = set()
    for node in deployment.nodes:
        for hit in _alone(node):
            wrong.add(id(node))
            yield hit
    for group in dp_groups(deployment):
        if not any(id(node) in wrong for node in group):
            yield from _together(group)
    for group in _launched(deployment):
        if any(id(node) in wrong for node in group):
            continue
        staggered = next(_staggered(group), None)
        if staggered is not None:
            yield staggered
        elif not _repeats(group) and not any(id(node) in wrong for node in group):
            yield from _missing([(node, ranks) for node in group if (ranks := local_ranks(node)) is not None])
    yield from disagreements(deployment)


def _alone(node: NodeLaunch) -> Iterator[Hit]:
    data, ranks = node.data, local_ranks(node)
    local = node.number("data-parallel-size-local", 0)
    if data is None:
        return
    related = seen(node, "data-parallel-size", "DP size", "DP 大小")
    if local is not None and local > data:
        yield Hit(
            at(node, "data-parallel-size-local"),
            Msg(
                f"the local DP size {local} is larger than the DP size {data}",
                f"本机 DP 大小 {local} 大于 DP 大小 {data}",
            ),
            Msg(
                f"write at most {data}, or set --data-parallel-size to the size of the whole side",
                f"最多写 {data}，或把 --data-parallel-size 写成整个一侧的大小",
            ),
            related=related,
        )
    elif ranks is not None and (ranks.start < 0 or ranks.stop > data) and (ranks.start or node.external_dp):
        flag = "data-parallel-rank" if node.external_dp else "data-parallel-start-rank"
        last = max(ranks.start, ranks.stop - 1)
        what = f"rank {ranks.start}" if len(ranks) == 1 else f"ranks {ranks.start} to {last}"
        yield Hit(
            at(node, flag),
            Msg(
                f"{what} with a DP size of {data}: ranks go from 0 to {data - 1}",
                f"DP 大小为 {data} 时 rank 只能是 0 到 {data - 1}，这里是 {ranks.start} 到 {last}",
            ),
            Msg(
                f"write a --{flag} of at most {max(0, data - len(ranks))}",
                f"--{flag} 最多写 {max(0, data - len(ranks))}",
            ),
            related=related,
        )


def _together(group: list[NodeLaunch]) -> Iterator[Hit]:
    known = [(node, ranks) for node in group if (ranks := local_ranks(node)) is not None]
    for index, (node, ranks) in enumerate(known):
        for earlier, taken in known[:index]:
            both = range(max(ranks.start, taken.start), min(ranks.stop, taken.stop))
            apart = exclusive(node, earlier) or _by_itself(node, ranks) or _by_itself(earlier, taken)
            apart = apart or _parts_of_one(node, earlier)
            if both and not apart:
                yield _twice(node, earlier, both.start)
                return
    if len(known) == len(group):
        yield from _missing(known)


def _launched(deployment: Deployment) -> Iterator[list[NodeLaunch]]:
    """Iterate over groups whose launchers are given the same address, of which only the spelling is known.

    Where a rank is there twice, each machine has a group of its own, or there are several versions of one, except where
    commands that start equally many ranks begin in the midst of one another's.
    """
    groups: dict[tuple[object, ...], list[NodeLaunch]] = {}
    for node in deployment.nodes:
        if node.dp_group is not None and group_key(node) is None and node.data is not None and node.data > 1:
            port = node.number("data-parallel-rpc-port", 0)
            groups.setdefault((side_of(node) or node.role, node.data, node.dp_group.value, port), []).append(node)
    for group in groups.values():
        if all(local_ranks(node) is not None for node in group):
            yield group


def _repeats(group: list[NodeLaunch]) -> bool:
    ranks = [rank for node in group for rank in local_ranks(node) or ()]
    return len(set(ranks)) != len(ranks)


def _staggered(group: list[NodeLaunch]) -> Iterator[Hit]:
    """Yield two launchers of one group that start equally many ranks, some of them both, but not all."""
    started: dict[Origin, dict[int, NodeLaunch]] = {}
    for node in group:
        for rank in local_ranks(node) or ():
            if node.dp_group is not None:
                started.setdefault(node.dp_group.origin, {})[rank] = node
    blocks = list(started.values())
    for index, block in enumerate(blocks):
        for earlier in blocks[:index]:
            both = min(block.keys() & earlier.keys(), default=None)
            if both is None or len(block) != len(earlier) or block.keys() == earlier.keys():
                continue
            mine, other = block[both].dp_group, earlier[both].dp_group
            if mine is not None and other is not None and not exclusive(block[both], earlier[both]):
                twice = _twice(block[both], earlier[both], both)
                related = ((other.origin, Msg("the other launcher of this rank", "另一处启动")),)
                yield replace(twice, origin=mine.origin, related=related)


def _parts_of_one(node: NodeLaunch, other: NodeLaunch) -> bool:
    """Whether two commands may be the parts of one engine that reaches over several machines."""
    if node.machines == 1 and other.machines == 1:
        return False
    mine, theirs = node.number("node-rank", 0), other.number("node-rank", 0)
    return mine is None or theirs is None or mine != theirs


def _by_itself(node: NodeLaunch, ranks: range) -> bool:
    """Whether one command starts a whole group that no other could join: its master has no address for others."""
    address = master_address(node)
    alone = address is not None and is_unreachable(address)
    return alone and not node.external_dp and ranks == range(node.data or 0)


def _twice(node: NodeLaunch, earlier: NodeLaunch, rank: int) -> Hit:
    flags = ("data-parallel-rank", "data-parallel-start-rank", "data-parallel-size-local", "data-parallel-size")
    return Hit(
        at(node, *flags),
        Msg(f"rank {rank} of this group is started twice", f"这一组的 rank {rank} 被启动了两次"),
        Msg(
            "start each rank once: --data-parallel-start-rank (or --data-parallel-rank) is the number of ranks "
            "on all earlier nodes",
            "每个 rank 只启动一次：--data-parallel-start-rank（或 --data-parallel-rank）等于前面各节点的 rank 总数",
        ),
        related=((at(earlier, *flags), Msg("the other launch of this rank", "另一处启动")),),
    )


def _missing(known: list[tuple[NodeLaunch, range]]) -> Iterator[Hit]:
    data = known[0][0].data or 0
    if data > MOST_RANKS:
        return
    absent = sorted(set(range(data)) - {rank for _, ranks in known for rank in ranks})
    if not absent or not _whole([node for node, _ in known]):
        return
    node = known[-1][0]
    shown = series(map(str, absent[:4]), more=len(absent) > 4)
    local = "--dp-size-local" if node.dp_group is not None else "the local sizes"
    others = dict.fromkeys(_at_count(other) for other, _ in known[:-1])
    yield Hit(
        node.dp_group.origin if node.dp_group is not None else at(node, "data-parallel-size"),
        Msg(
            f"the DP size is {data}, but no node of this group starts rank {shown.en}",
            f"DP 大小是 {data}，但这一组没有节点启动 rank {shown.zh}",
        ),
        Msg(
            f"make {local} of the group's nodes add up to the DP size, or add the missing node's file",
            "让各节点的本机 DP 加起来等于 DP 大小，或补上缺少的节点的文件",
        ),
        related=tuple((place, Msg("ranks of another node", "其他节点的 rank")) for place in [*others][:4]),
    )


def _at_count(node: NodeLaunch) -> Origin:
    """Return the place that says how many ranks, or which, a node starts."""
    if node.dp_group is not None:
        return node.dp_group.origin
    return at(node, "data-parallel-size-local", "data-parallel-rank")


def _whole(nodes: list[NodeLaunch]) -> bool:
    """Whether the input surely shows the whole group, not a sample of it."""
    if any(node.branches for node in nodes):
        return False
    if all(node.form in ("e2e", "profile") for node in nodes):
        return True
    machines = {node.host for node in nodes}
    return (
        len(machines) > 1
        and None not in machines
        and not any(node.external_dp and node.dp_group is None for node in nodes)
    )
