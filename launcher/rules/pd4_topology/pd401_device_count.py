"""PD401 device-count."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.places import at, seen
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.engine.devices import device_count, ranks_here, visible, visible_node
from pd_launch.schemas.engine.sides import exclusive, in_turn, same_machine

ZH = """
本节点需要的设备多于可见的或实际的设备

## 作用

把本机 DP × TP × PP（以及 PCP）与可见设备列表、节点的设备数比较；同一个输入在同一台机器上启动的所有引擎合在一起计算。
同一张卡用了两次也会报告：在一个列表里重复，或者分给了同一台机器上的两个引擎（两者的 `--gpu-memory-utilization`
加起来放得下时除外）。不会同时运行的引擎（例如两个分支里的）不相加。可见设备比需要的多没有问题。

## 为什么重要

每个 rank 独占一个设备：设备不够时，引擎会在初始化时退出，或者两个 rank 争用同一张卡，导致内存不足。

## 适用版本

所有版本。

## 来源

vllm/config/parallel.py（world_size）；vllm-ascend 的 P/D 教程：本机 DP × TP × PP 不超过节点的 NPU 数。
"""


@rule("PD401", "device-count", "error", zh=ZH, needs="C P H R")
def device_count_fits(deployment: Deployment) -> Iterator[Hit]:
    """The engines need more devices than they see, or than the node has.

    ## What it does

    Compares local DP × TP × PP (and PCP) with the list of visible devices and with the node's number of devices; all
    engines that the input starts on one machine are added up. It also reports a device that is given twice: in one
    list, or to two engines on one machine, unless the shares in their `--gpu-memory-utilization` fit together. Engines
    that never run at the same time, such as those in two branches, are not added up. More visible devices than needed
    are fine.

    ## Why it matters

    Each rank has its own device: with too few the engine stops while it starts, or two ranks compete for one card's
    memory.

    ## Example

    ```bash
    ASCEND_RT_VISIBLE_DEVICES=0,1,2,3 vllm serve /models/m --tensor-parallel-size 4 --data-parallel-size 2
    ```

    ## Use instead

    ```bash
    ASCEND_RT_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 vllm serve /models/m --tensor-parallel-size 4 --data-parallel-size 2
    ```

    ## Releases

    All.

    ## Sources

    vllm/config/parallel.py (world_size); vllm-ascend's P/D tutorials: local DP × TP × PP is at most the node's NPUs.
    """
    full: set[str] = set()
    alternatives = _alternatives(deployment)
    for node in deployment.nodes:
        yield from _list(node, deployment)
        if node.host is None or node.host not in full:
            for hit in _machine(node, deployment, alternatives):
                full.add(node.host or "")
                yield hit
    yield from _shared(deployment)


def _list(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Check the list of visible devices against itself and what the engine needs."""
    devices, place, need = visible(node, deployment), visible_node(node, deployment), ranks_here(node)
    if devices is None or place is None:
        return
    twice = sorted({d for d in devices if devices.count(d) > 1})
    if twice:
        yield Hit(
            place.origin,
            Msg(f"device {twice[0]} is listed twice", f"设备 {twice[0]} 在列表中出现了两次"),
            Msg("list each device once", "每个设备只写一次"),
        )
    have = len(set(devices))
    if need is not None and need > have:
        yield Hit(
            at(node, "tensor-parallel-size", "data-parallel-size-local", "data-parallel-size"),
            Msg(
                f"{_product(node)} = {need} devices are needed, but {have} are visible",
                f"需要 {_product(node, 'zh')} = {need} 个设备，但只有 {have} 个可见",
            ),
            Msg(
                f"make {need} devices visible, or lower the parallel sizes to {counted(have, 'rank')}",
                f"让 {need} 个设备可见，或把并行大小降到 {have} 个 rank",
            ),
            related=((place.origin, Msg("the visible devices", "可见的设备")),),
        )


def _mates(node: NodeLaunch, deployment: Deployment) -> list[NodeLaunch]:
    return [m for m in deployment.nodes if m is node or (node.host is not None and m.host == node.host)]


def _alternatives(deployment: Deployment) -> set[int]:
    """Return the launches, by id, that never run beside some other launch of their machine."""
    if not any(node.branches or node.foreground for node in deployment.nodes):
        return set()
    apart: set[int] = set()
    for index, one in enumerate(deployment.nodes):
        for other in deployment.nodes[index + 1 :]:
            if one.host is not None and one.host == other.host and (exclusive(one, other) or in_turn(one, other)):
                apart |= {id(one), id(other)}
    return apart


def _machine(node: NodeLaunch, deployment: Deployment, alternatives: set[int]) -> Iterator[Hit]:
    """Check what all engines of the node's machine need against what the machine has."""
    count = device_count(node, deployment)
    if count is None:
        return
    mates = _mates(node, deployment)
    needs = [ranks_here(m) for m in mates if m is node or id(m) not in alternatives]
    if None not in needs and sum(n or 0 for n in needs) > count:
        need = sum(n or 0 for n in needs)
        what, what_zh = _product(node), _product(node, "zh")
        if len(needs) > 1:
            what, what_zh = f"{len(needs)} engines ({what} each)", f"{len(needs)} 个引擎（每个 {what_zh}）"
        yield Hit(
            at(node, "tensor-parallel-size", "data-parallel-size-local", "data-parallel-size"),
            Msg(
                f"{what} need {need} devices, but the node has {count}",
                f"{what_zh}共需要 {need} 个设备，但节点只有 {count} 个",
            ),
            Msg(
                "start fewer ranks on this node, or lower the parallel sizes",
                "减少本节点上的 rank 数，或降低并行大小",
            ),
            related=seen(node, "data-parallel-size", "DP size", "DP 大小"),
        )
        return
    for mate in mates:
        devices, place = visible(mate, deployment), visible_node(mate, deployment)
        beyond = [d for d in devices or () if d >= count]
        if beyond and place is not None:
            yield Hit(
                place.origin,
                Msg(
                    f"device {beyond[0]} is listed, but the node has the devices 0 to {count - 1}",
                    f"列表里有设备 {beyond[0]}，但节点只有设备 0 到 {count - 1}",
                ),
                Msg(f"list devices from 0 to {count - 1}", f"只写 0 到 {count - 1} 之间的设备"),
            )
            return


def _shared(deployment: Deployment) -> Iterator[Hit]:
    """Find devices that two engines of one machine are both given."""
    given = {id(node): frozenset(visible(node, deployment) or ()) for node in deployment.nodes}
    said: set[int] = set()
    for one, other in same_machine(deployment):
        both = sorted(given[id(one)] & given[id(other)]) if id(other) not in said else []
        if not both:
            continue
        place, before = visible_node(other, deployment), visible_node(one, deployment)
        if place is None or before is None or _on_purpose(one, other):
            continue
        said.add(id(other))
        yield Hit(
            place.origin,
            Msg(
                f"device {both[0]} is given to two engines on this machine",
                f"设备 {both[0]} 同时分给了这台机器上的两个引擎",
            ),
            Msg("give each engine its own devices", "给每个引擎分配各自的设备"),
            related=((before.origin, Msg("the other engine's devices", "另一个引擎的设备")),),
        )


def _on_purpose(one: NodeLaunch, other: NodeLaunch) -> bool:
    """Whether both engines say which share of the memory they take, and the shares fit."""
    shares = []
    for node in (one, other):
        value = node.value("gpu-memory-utilization")
        try:
            shares.append(float(str(value.value)) if value is not None else 1.0)
        except ValueError:
            return True
    return sum(shares) <= 1.0


def _product(node: NodeLaunch, lang: str = "en") -> str:
    sizes = (
        ("DP", node.local_engines),
        ("TP", node.tensor),
        ("PP", node.pipeline),
        ("PCP", node.prefill_context),
    )
    product = " × ".join(f"{name} {size}" for name, size in sizes if name == "TP" or size != 1)
    if node.local_world == node.world_size:
        return product
    return f"{product} over {node.machines} nodes" if lang == "en" else f"{product}（分布在 {node.machines} 个节点上）"
