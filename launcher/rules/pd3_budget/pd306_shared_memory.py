"""PD306 shared-memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pd_launch.launcher.rules.edits import fix, set_value
from pd_launch.launcher.rules.registry import FixEdits, Hit, rule
from pd_launch.schemas.core.launch import Container, Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import GIB, counted, human_size
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.core.words import agreeing
from pd_launch.schemas.engine.machines import by_container, by_machine, offload_bytes, size_of
from pd_launch.schemas.memory.host_memory import DOCKER_DEFAULT_SHM
from pd_launch.schemas.memory.shared_memory import ShmNeed, addends, shm_need

ZH = """
/dev/shm 太小

## 作用

计算一个节点上的引擎需要多少 /dev/shm（每个引擎的消息环，以及放在那里的 CPU 缓存层），与配置里写的或实测的大小比较。
不够时报告为错误；容器没有写大小时报告为警告（Docker 默认 64 MB）；在 vllm-ascend 上，
不能同时放下卸载预算时也报告为警告：上游指南这样要求，但目前没有发现哪个版本真的需要。

## 为什么重要

/dev/shm 不够的引擎会在启动时报错，或者稍后在发送消息时崩溃；0.27.1 之前的 vLLM 根本不检查。

## 适用版本

所有版本；CPU 缓存层的文件从 vLLM <since cpu-tier-is-a-file> 起。

## 来源

vLLM 的 v1/executor/multiproc_executor.py
与 distributed/device_communicators/shm_broadcast.py（消息环的大小运行验证过），
v1/kv_offload/cpu/shared_offload_region.py（0.27.1、0.32.0）；vllm-ascend 的卸载指南（--shm-size）。
"""


class _Size(NamedTuple):
    """A size of /dev/shm that is known, where it is written (None: measured), and in which form a fix writes it."""

    size: int
    written: Node | None = None
    form: str = ""


@rule("PD306", "shared-memory", "error", zh=ZH, needs="C H R")
def shared_memory(deployment: Deployment) -> Iterator[Hit]:
    r"""/dev/shm is too small for the node's engines.

    ## What it does

    Computes how much of /dev/shm a node's engines need (the message rings of each engine, and a CPU tier that lives
    there) and compares it with the configured or measured size. Too small is an error. A container without a size is a
    warning (Docker's default is 64 MB). On vllm-ascend a size that does not also hold the offload budget is a warning:
    the guides ask for it, although no release is known to need it.

    ## Why it matters

    An engine without enough /dev/shm stops at start, or crashes later while it sends a message; vLLM before 0.27.1 does
    not check it at all.

    ## Example

    ```bash
    # target: 0.23.0
    docker run --shm-size=1g quay.io/ascend/vllm-ascend:v0.23.0 \
      vllm serve /models/m --tensor-parallel-size 8 --data-parallel-size 2 --enable-expert-parallel
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    docker run --shm-size=16g quay.io/ascend/vllm-ascend:v0.23.0 \
      vllm serve /models/m --tensor-parallel-size 8 --data-parallel-size 2 --enable-expert-parallel
    ```

    ## Releases

    All; the CPU tier's file from vLLM <since cpu-tier-is-a-file>.

    ## Sources

    vLLM's v1/executor/multiproc_executor.py and distributed/device_communicators/shm_broadcast.py (ring sizes run),
    v1/kv_offload/cpu/shared_offload_region.py at 0.27.1 and 0.32.0; the offload guide of vllm-ascend (--shm-size).
    """
    contained: set[int] = set()
    for container, nodes in by_container(deployment):
        if container.shm_shared is not None:
            continue
        contained |= {id(node) for node in nodes}
        if container.shm_size is not None:
            size = size_of(container.shm_size)
            if size is not None:
                yield from _judge(deployment, nodes, _Size(size, container.shm_size, container.form))
        elif container.form != "profile" and not container.partial:
            yield from _unsized(deployment, nodes, container)
    free = deployment.fact("shm_free")
    measured = free if free is not None else deployment.fact("shm_total")
    if measured is not None:
        for nodes in by_machine(deployment):
            outside = [node for node in nodes if id(node) not in contained]
            if outside:
                yield from _judge(deployment, outside, _Size(measured))


def _need(deployment: Deployment, nodes: list[NodeLaunch]) -> ShmNeed:
    """Return what the nodes need at least; one whose layout is unknown counts nothing."""
    return sum((need for node in nodes if (need := shm_need(node, deployment.target))), ShmNeed())


def _judge(deployment: Deployment, nodes: list[NodeLaunch], have: _Size) -> Iterator[Hit]:
    need = _need(deployment, nodes)
    budget = sum(offload_bytes(node, deployment) or 0 for node in nodes) if deployment.target.is_ascend else 0
    both = need.total + budget
    origin = have.written.origin if have.written is not None else nodes[0].origin
    en, zh = human_size(have.size), human_size(have.size)
    if have.written is None:
        en, zh = f"{en} free", f"可用的 {zh}"
    if have.size < need.total:
        yield Hit(
            origin,
            Msg(
                f"/dev/shm of {en} is too small: the {counted(need.engines, 'engine')} here "
                f"{agreeing(need.engines, 'needs', 'need')} "
                f"{human_size(need.total)} = {addends(need).en}",
                f"/dev/shm（{zh}）太小：这里的 {need.engines} 个引擎需要 {human_size(need.total)} = {addends(need).zh}",
            ),
            _give(both),
            fix=_fix(have, both),
        )
    elif have.size < both:
        yield Hit(
            origin,
            Msg(
                f"/dev/shm of {en} holds the engines' own {addends(need).en}, but not {human_size(budget)} (offload "
                "budget) as well; the guides ask for that, though no release is known to need it",
                f"/dev/shm（{zh}）放得下引擎自己的 {addends(need).zh}，但放不下另外 {human_size(budget)}（卸载预"
                "算）；上游指南这样要求，但目前没有发现哪个版本真的需要",
            ),
            _give(both),
            severity="warning",
            fix=_fix(have, both),
        )


def _unsized(deployment: Deployment, nodes: list[NodeLaunch], container: Container) -> Iterator[Hit]:
    need = _need(deployment, nodes)
    if need.total <= DOCKER_DEFAULT_SHM:
        return
    yield Hit(
        container.origin,
        Msg(
            f"the size of /dev/shm is not set, so the container gets 64 MB; its "
            f"{counted(need.engines, 'engine')} {agreeing(need.engines, 'needs', 'need')} "
            f"{human_size(need.total)} = {addends(need).en}",
            f"没有写 /dev/shm 的大小，容器只会得到 64 MB；里面的 {need.engines} 个引擎需要 {human_size(need.total)} = "
            f"{addends(need).zh}",
        ),
        _how(container, need.total),
        severity="warning",
    )


def _whole(size: int) -> int:
    return -(-size // GIB)


def _give(size: int) -> Msg:
    return Msg(f"give it {_whole(size)} GiB or more", f"至少给 {_whole(size)} GiB")


def _how(container: Container, size: int) -> Msg:
    amount = _whole(size)
    if container.form == "manifest":
        text = f"mount an emptyDir with medium: Memory and sizeLimit: {amount}Gi at /dev/shm"
        return Msg(text, f"在 /dev/shm 挂载一个 emptyDir（medium: Memory，sizeLimit: {amount}Gi）")
    if container.form == "compose":
        return Msg(f"add shm_size: {amount}g, or ipc: host", f"加上 shm_size: {amount}g，或者 ipc: host")
    return Msg(f"add --shm-size={amount}g, or --ipc=host", f"加上 --shm-size={amount}g，或者 --ipc=host")


def _fix(have: _Size, size: int) -> FixEdits | None:
    unit = {"docker": "g", "compose": "g", "manifest": "Gi", "profile": "GiB"}.get(have.form)
    if unit is None or have.written is None:
        return None
    text = f"{_whole(size)}{unit}"
    return fix(Msg(f"write {text}", f"写成 {text}"), set_value(have.written, text))
