"""PD708 transfer-timeout."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Origin, as_integer
from pd_launch.schemas.engine.kv_transfer import SIZED_CONNECTORS, connectors
from pd_launch.schemas.engine.sides import side_of

ABORT = "VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT"
TRANSFER = "ASCEND_TRANSFER_TIMEOUT"
DEFAULT_ABORT = 480
"""Seconds after which a prefill node frees KV that nobody fetched, unless the variable says otherwise."""
READERS = SIZED_CONNECTORS - {"MooncakeLayerwiseConnector"} | {"MooncakeConnector"}

ZH = """
预填充节点过早释放还没有被取走的 KV

## 作用

报告预填充节点上小于默认值（480 秒）的 `VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT`，或小于解码侧一次传输的等待时间
（`ASCEND_TRANSFER_TIMEOUT`，毫秒）的值。

## 为什么重要

解码节点上有排队或发生抢占时，请求等待的时间可能超过这个值；那时它的 KV 已被释放，请求会失败或重新预填充。

## 适用版本

所有版本。

## 来源

vllm/envs.py；vllm_ascend 的 mooncake_connector.py 与 mooncake_hybrid_connector.py（0.23.0、0.26.0rc1）。
"""


@rule("PD708", "transfer-timeout", "info", zh=ZH, confidence="medium", needs="C P")
def transfer_timeout(deployment: Deployment) -> Iterator[Hit]:
    r"""The prefill node frees KV early, before the decode node may have fetched it.

    ## What it does

    Fires on a prefill node whose `VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT` is below the default of 480 seconds, or below
    the time that the decode side waits for one transfer (`ASCEND_TRANSFER_TIMEOUT`, in milliseconds).

    ## Why it matters

    When the decode node queues or preempts, a request may wait longer than this, and by then its KV is gone.

    ## Example

    ```bash
    export VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT=60
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer",
      "kv_port": 36000, "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1},
      "decode": {"dp_size": 1, "tp_size": 1}}}'
    ```

    ## Use instead

    ```bash
    export VLLM_MOONCAKE_ABORT_REQUEST_TIMEOUT=600
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer",
      "kv_port": 36000, "kv_connector_extra_config": {"prefill": {"dp_size": 1, "tp_size": 1},
      "decode": {"dp_size": 1, "tp_size": 1}}}'
    ```

    ## Releases

    All.

    ## Sources

    vllm/envs.py; vllm_ascend's mooncake_connector.py and mooncake_hybrid_connector.py at 0.23.0 and 0.26.0rc1.
    """
    waits = [wait for node in deployment.nodes if side_of(node) == "decode" and (wait := _wait(node))]
    for node in deployment.nodes:
        if side_of(node) != "prefill" or not any(c.name in READERS for c in connectors(node.kv_transfer)):
            continue
        found = node.env.get(ABORT)
        seconds = as_integer(found.value.value) if found else None
        longest = max(waits, default=None)
        if found is not None and seconds is not None and seconds < DEFAULT_ABORT:
            yield _hit(found.value.origin, seconds, DEFAULT_ABORT, None)
        elif longest is not None and (seconds or DEFAULT_ABORT) < longest[0]:
            place = found.value.origin if found else node.origin
            yield _hit(place, seconds or DEFAULT_ABORT, longest[0], longest[1])


def _wait(node: NodeLaunch) -> tuple[int, Origin] | None:
    """Return the seconds that a decode node waits for one transfer, where it says so, and where."""
    found = node.env.get(TRANSFER)
    milliseconds = as_integer(found.value.value) if found else None
    return None if found is None or milliseconds is None else (-(-milliseconds // 1000), found.value.origin)


def _hit(origin: Origin, seconds: int, needed: int, wait: Origin | None) -> Hit:
    what = "the default" if wait is None else "the decode node's wait for one transfer"
    what_zh = "默认值" if wait is None else "解码节点等待一次传输的时间"
    return Hit(
        origin,
        Msg(
            f"this node frees KV that has not been fetched after {seconds} s; {what} is {needed} s",
            f"本节点在 {seconds} 秒后就会释放没有被取走的 KV；{what_zh}是 {needed} 秒",
        ),
        Msg(
            f"set {ABORT} above the longest wait in the decode node's queue, at least {needed}",
            f"把 {ABORT} 设得比解码节点队列中最长的等待时间更大，至少 {needed}",
        ),
        related=() if wait is None else ((wait, Msg("the decode node's wait", "解码节点的等待时间")),),
    )
