"""PD111 async-scheduling-model."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.offload import offloads
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.hooks import has_preemption_hook

ASYNC_METHODS = ("eagle", "mtp", "dflash", "dspark", "ngram_gpu")
"""Parts of the names of speculative methods with which vLLM leaves async scheduling on."""

ZH = r"""
Qwen3.5 模型同时使用抢占卸载和异步调度

## 作用

Qwen3.5 系列模型在 vllm-ascend 上使用卸载连接器，而异步调度是打开的，就会报告：写了 `--async-scheduling`，
或者默认打开，而配置里没有关闭它。

## 为什么重要

Qwen3.5 模型尚未完全支持异步调度与抢占卸载同时使用，恢复的请求可能从错误的状态继续执行。

## 适用版本

vllm-ascend <since preemption-hook> 起；vLLM 从 0.18.0 起的所有版本默认打开异步调度。

## 来源

vllm-ascend 卸载指南的限制说明（每个版本）；vllm/config/vllm.py，0.27.1（默认值）。
"""


@rule("PD111", "async-scheduling-model", "error", zh=ZH, needs="C R")
def async_scheduling_model(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Async scheduling on a Qwen3.5 model with preemption offload.

    ## What it does

    Fires when a Qwen3.5-family model runs with the offload connector on vllm-ascend and async scheduling is on: given
    as `--async-scheduling`, or by default, where nothing in the configuration turns it off.

    ## Why it matters

    Qwen3.5 with async scheduling is not fully supported yet with preemption offload, and a restored request may
    continue from a wrong state.

    ## Example

    ```bash
    # target: 0.26.0rc1
    vllm serve Qwen/Qwen3.5-397B-A17B \
      --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer"}'
    ```

    ## Use instead

    ```bash
    # target: 0.26.0rc1
    vllm serve Qwen/Qwen3.5-397B-A17B \
      --additional-config '{"scheduler_config": {"recompute_scheduler_enable": true}}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer"}' \
      --no-async-scheduling
    ```

    ## Releases

    vllm-ascend from <since preemption-hook>; vLLM turns async scheduling on by default in all releases from 0.18.0.

    ## Sources

    The offload guide of vllm-ascend (its limitations, every release); vllm/config/vllm.py at 0.27.1 (the default).
    """
    target, found, model = deployment.target, offloads(node), model_of(node)
    if not target.is_ascend or not has_preemption_hook(target) or not found:
        return
    if model is None or model.family != "qwen3.5" or node.role not in (None, "kv_consumer"):
        return
    given = node.switch("async-scheduling")
    if given is False or (given is None and _off_by_default(node)):
        return
    place = found[0].tree.get("kv_connector") or found[0].tree
    where: Origin = place.origin
    if given:
        where = node.named("async-scheduling")[-1].origin
    message = (
        Msg(
            "async scheduling is switched on for a Qwen3.5 model with preemption offload",
            "Qwen3.5 模型使用抢占卸载，却打开了异步调度",
        )
        if given
        else Msg(
            "async scheduling is on by default, but is not supported on a Qwen3.5 model with preemption offload",
            "异步调度默认打开，而 Qwen3.5 模型使用抢占卸载时不支持它",
        )
    )
    yield Hit(where, message, Msg("add --no-async-scheduling", "加上 --no-async-scheduling"))


def _off_by_default(node: NodeLaunch) -> bool:
    """Whether something in the configuration turns the default off, or is not known well enough."""
    backend = node.value("distributed-executor-backend")
    if backend is not None and backend.value not in ("mp", "uni"):
        return True
    speculative = node.value("speculative-config")
    if speculative is None:
        return False
    method, padded = speculative.get("method"), speculative.get("disable_padded_drafter_batch")
    name = method.string() if method else None
    return name is None or not any(part in name for part in ASYNC_METHODS) or bool(padded is not None and padded.value)
