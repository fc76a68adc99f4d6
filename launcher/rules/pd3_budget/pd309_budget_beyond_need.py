"""PD309 budget-beyond-need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.wording.nouns import seat
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import human_size
from pd_launch.schemas.engine.budget import PER_RANK, RATIO, TOTAL
from pd_launch.schemas.engine.offload import budget_of, device_cache_bytes, served
from pd_launch.schemas.memory.kv_geometry import geometry_of
from pd_launch.schemas.models.known import model_of

FACTOR = 1.1

ZH = """
预算比设备上的 KV 缓存还大

## 作用

当每张卡的卸载预算超过该卡 KV 缓存的 1.1 倍时提示。KV 缓存的大小取自 `--kv-cache-memory-bytes`、
`--num-gpu-blocks-override` 与模型的 KV 大小，或者以设备内存乘以 `--gpu-memory-utilization` 为上限。

## 为什么重要

被抢占的请求不可能比设备上的 KV 缓存还大，多出的主机内存永远用不到。

## 适用版本

所有带卸载连接器的版本。

## 来源

只有在设备上有过的块才会被保存：vllm-ascend 的 recompute_cpu_offload/manager.py（0.27.1rc1）。
"""


class _Cache(NamedTuple):
    """One card's KV cache: its bytes, exactly or at most."""

    size: int
    exact: bool


@rule("PD309", "budget-beyond-need", "info", zh=ZH, needs="C R")
def budget_beyond_need(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The budget is larger than the device's KV cache.

    ## What it does

    Fires when a card's offload budget is more than 1.1 times its KV cache. The cache's size is taken from
    `--kv-cache-memory-bytes`, from `--num-gpu-blocks-override` with the model's KV geometry, or is at most the device's
    memory times `--gpu-memory-utilization`.

    ## Why it matters

    Preempted requests cannot hold more than the device's KV cache, so the rest of the host memory is never used.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve /models/m --kv-cache-memory-bytes 8589934592 \
      --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 17179869184}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve /models/m --kv-cache-memory-bytes 8589934592 \
      --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 8589934592}}'
    ```

    ## Releases

    All that have the offload connector.

    ## Sources

    Only blocks that were on the device are saved: vllm-ascend's recompute_cpu_offload/manager.py at 0.27.1rc1.
    """
    for connector in served(node, deployment.target):
        budget = budget_of(node, connector, deployment.target)
        written = connector.option(PER_RANK) or connector.option(TOTAL) or connector.option(RATIO)
        if budget is None or written is None:
            continue
        if budget.source == "ratio" and budget.ratio is not None and budget.ratio > FACTOR:
            what = Msg(f"{budget.ratio:g} × the device's KV cache", f"设备 KV 缓存的 {budget.ratio:g} 倍")
            yield Hit(written.origin, _too_much(what), Msg("1.0 holds everything", "写 1.0 就能放下全部"))
            continue
        cache = _cache(node, deployment)
        size = budget.per_rank_bytes
        if cache is None or size is None or budget.source == "ratio" or size <= cache.size * FACTOR:
            continue
        have, most, on = human_size(size), human_size(cache.size), seat(node)
        about, about_zh = ("", "") if cache.exact else ("at most ", "最多 ")
        yield Hit(
            written.origin,
            _too_much(
                Msg(
                    f"{have} per {on.en}, but its KV cache is {about}{most}",
                    f"{on.each_zh} {have}，而它的 KV 缓存是 {about_zh}{most}",
                )
            ),
            Msg(
                f"{most} per {on.en} holds everything that can be preempted",
                f"{on.each_zh} {most} 就能放下所有可能被抢占的请求",
            ),
        )


def _too_much(what: Msg) -> Msg:
    return Msg(f"more than can ever be saved: {what.en}", f"超出了可能保存的最大量：{what.zh}")


def _cache(node: NodeLaunch, deployment: Deployment) -> _Cache | None:
    size = device_cache_bytes(node)
    if size is not None:
        return _Cache(size, True)
    blocks = node.number("num-gpu-blocks-override", 0)
    geometry = geometry_of(node, model_of(node), deployment.target)
    if blocks and geometry is not None and geometry.exact:
        return _Cache(blocks * geometry.block_bytes, True)
    memory = node.hardware.device_bytes if node.hardware else None
    share = _utilization(node)
    return None if memory is None or share is None else _Cache(int(memory * share), False)


def _utilization(node: NodeLaunch) -> float | None:
    value = node.value("gpu-memory-utilization")
    if value is None:
        return 1.0
    try:
        share = float(value.value) if isinstance(value.value, (int, float, str)) else None
    except ValueError:
        return None
    return share if share is not None and 0 < share <= 1 else None
