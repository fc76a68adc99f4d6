"""PD308 pinned-rounding."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import human_size
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.memory.shared_memory import cpu_tier
from pd_launch.schemas.releases.stock import FILE_TIER

MUCH = 1.25

ZH = """
锁页内存会向上取整到 2 的幂

## 作用

在 0.27 之前的 vLLM（CUDA）上，如果上游 CPU 缓存层每个 rank 的大小取整到 2 的幂之后，比所写的多出四分之一以上，
就会报告。

## 为什么重要

PyTorch 的锁页内存分配器把每次分配向上取整到 2 的幂，主机内存的用量可能接近所写的两倍。

## 适用版本

<since cpu-tier-is-a-file> 之前的 vLLM。从 <since cpu-tier-is-a-file> 起，CPU 缓存层是 /dev/shm 里的一个文件。
NPU 上的分配器未核实，因此不报告。

## 来源

PyTorch 锁页内存分配器的公开报告；vLLM 的 v1/kv_offload/cpu（0.27.1）。
"""


@rule("PD308", "pinned-rounding", "warning", zh=ZH, confidence="medium", needs="C R")
def pinned_rounding(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Pinned memory is rounded up to a power of two.

    ## What it does

    On vLLM before 0.27 with CUDA, fires when a rank's share of upstream's CPU tier, rounded up to a power of two, is
    more than a quarter above what is written.

    ## Why it matters

    PyTorch's pinned allocator rounds each allocation up to a power of two, so the host may use almost twice the memory
    that is written.

    ## Example

    ```bash
    # target: vllm==0.23.0
    vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2 --kv-offloading-size 80
    ```

    ## Use instead

    ```bash
    # target: vllm==0.23.0
    vllm serve Qwen/Qwen3-32B --tensor-parallel-size 2 --kv-offloading-size 64
    ```

    ## Releases

    vLLM before <since cpu-tier-is-a-file>. From <since cpu-tier-is-a-file> on the CPU tier is a file in /dev/shm.
    The allocator of an NPU was not examined, so nothing is reported there.

    ## Sources

    Public reports of PyTorch's pinned allocator; vLLM's v1/kv_offload/cpu at 0.27.1.
    """
    target = deployment.target
    world, total = node.world_size, cpu_tier(node) or _simple_tier(node)
    if target.is_ascend or FILE_TIER.holds(target) or not world or not total:
        return
    share = total // world
    rounded = 1 << (share - 1).bit_length() if share else 0
    if rounded < share * MUCH:
        return
    below = rounded // 2
    yield Hit(
        _place(node),
        Msg(
            f"{human_size(share)} for each rank are pinned as {human_size(rounded)}: the allocator rounds up to a "
            f"power of two, {human_size(rounded * world)} instead of {human_size(total)} for the engine",
            f"每个 rank 的 {human_size(share)} 实际占用 {human_size(rounded)} 锁页内存：分配器向上取整到 2 的幂，"
            f"整个引擎占用 {human_size(rounded * world)}，而不是 {human_size(total)}",
        ),
        Msg(
            f"use {human_size(below)} or {human_size(rounded)} for each rank ({human_size(below * world)} or "
            f"{human_size(rounded * world)} in all)",
            f"每个 rank 用 {human_size(below)} 或 {human_size(rounded)}（共 {human_size(below * world)} 或 "
            f"{human_size(rounded * world)}）",
        ),
    )


def _simple_tier(node: NodeLaunch) -> int | None:
    """Return the bytes of upstream's SimpleCPUOffloadConnector for one engine, or None without one."""
    for connector in connectors(node.kv_transfer):
        total = connector.option("cpu_bytes_to_use")
        if connector.name == "SimpleCPUOffloadConnector" and total is not None:
            return total.integer()
    return None


def _place(node: NodeLaunch) -> Origin:
    value = node.value("kv-offloading-size")
    if value is not None:
        return value.origin
    totals = [connector.option("cpu_bytes_to_use") for connector in connectors(node.kv_transfer)]
    return next((total.origin for total in totals if total is not None), node.origin)
