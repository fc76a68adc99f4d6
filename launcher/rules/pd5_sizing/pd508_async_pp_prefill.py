"""PD508 async-pp-prefill."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.places import at, seen
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.sides import side_of
from pd_launch.schemas.engine.speculation import config_of
from pd_launch.schemas.releases.stock import PIPELINE_SYNCHRONOUS

ZH = """
流水线并行的预填充节点使用异步调度

## 作用

当预填充节点的 pipeline-parallel-size 大于 1，并且异步调度是打开的（明确打开，或 vLLM 0.30 及以前默认打开）时提示。

## 为什么重要

使用流水线并行时，异步调度对预填充的收益很小；在较早的版本上，它与分块预填充一起使用曾使引擎卡住。

## 适用版本

所有版本；卡住的问题记录在 0.19 上。

## 来源

vllm-ascend 的 PR 8468 与 11076；vllm/config/vllm.py，
0.32.0（V1 model runner 在流水线并行下默认关闭异步调度）。
"""


@rule("PD508", "async-pp-prefill", "info", zh=ZH, needs="C R")
def async_pp_prefill(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Async scheduling on a pipeline-parallel prefill node.

    ## What it does

    Fires when a prefill node has a pipeline-parallel-size above 1 and async scheduling is on: switched on explicitly,
    or by default (up to vLLM 0.30).

    ## Why it matters

    With pipeline parallelism prefill gains little from async scheduling, and on older releases the two together with
    chunked prefill made the engine hang.

    ## Example

    ```bash
    vllm serve /models/m --pipeline-parallel-size 2 --async-scheduling \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000"}'
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --pipeline-parallel-size 2 --no-async-scheduling \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000"}'
    ```

    ## Releases

    All; the hang was recorded on 0.19.

    ## Sources

    vllm-ascend's pull requests 8468 and 11076; vllm/config/vllm.py at 0.32.0 (the V1 model runner leaves async
    scheduling off with pipeline parallelism unless it is asked for).
    """
    pipeline, explicit = node.pipeline, node.switch("async-scheduling")
    if side_of(node) != "prefill" or pipeline is None or pipeline < 2 or explicit is False:
        return
    if not explicit and (PIPELINE_SYNCHRONOUS.holds(deployment.target) or node.partial or config_of(node) is not None):
        return
    how, how_zh = ("", "打开了") if explicit else (" (on by default)", "默认打开了")
    yield Hit(
        at(node, "async-scheduling", "pipeline-parallel-size"),
        Msg(
            f"async scheduling{how} on a prefill node with {pipeline} pipeline stages",
            f"预填充节点有 {pipeline} 个流水线阶段，却{how_zh}异步调度",
        ),
        Msg(
            "write --no-async-scheduling unless measurements show a gain",
            "除非实测有收益，否则写 --no-async-scheduling",
        ),
        related=seen(node, "pipeline-parallel-size", "pipeline parallelism", "流水线并行"),
    )
