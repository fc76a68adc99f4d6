"""PD304 budget-too-small."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.wording.nouns import Noun, seat
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import human_size
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.budget import PER_RANK, TOTAL, host_blocks
from pd_launch.schemas.engine.kv_transfer import Connector
from pd_launch.schemas.engine.lengths import longest_request
from pd_launch.schemas.engine.offload import budget_of, budget_options, served
from pd_launch.schemas.memory.kv_geometry import Geometry, geometry_of
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.features import RENAMED

ZH = """
卸载预算太小

## 作用

根据模型的 KV 大小计算每张卡的预算能放下多少块：没有一块可用时报告为错误，连一个最长的请求
（`ceil(max_model_len / block_size) + 1` 块）都放不下时报告为警告。

## 为什么重要

放不下的请求不会被保存：它会像没有配置卸载一样被交还给代理或重新计算，内存则白白占用。内置的连接器有一块要用作空块，
因此只够一块的预算等于没有。

## 适用版本

所有带卸载连接器的版本。

## 来源

vllm-ascend 的 recompute_cpu_offload/manager.py（`_derive_cpu_config`，0.27.1rc1）与 vLLM 的 v1/core/block_pool.py；
模型的各项大小来自它的 config.json。
"""


@rule("PD304", "budget-too-small", "error", zh=ZH, confidence="medium", needs="C R")
def budget_too_small(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The offload budget is below what it must hold.

    ## What it does

    Computes from the model's KV geometry how many blocks the budget of a card holds: no usable block is an error, less
    than one longest request (`ceil(max_model_len / block_size) + 1` blocks) a warning.

    ## Why it matters

    A request that does not fit is not saved: it goes back to the proxy or is recomputed as without the offload, while
    the memory is still allocated. The built-in connector also loses one block to the null block, so a budget of one
    block holds nothing.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --max-model-len 32768 \
      --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 1048576}}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --max-model-len 32768 \
      --additional-config '{"recompute_scheduler_enable": true}' \
      --kv-transfer-config '{"kv_connector": "RecomputeCPUOffloadConnector", "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"cpu_bytes_to_use_per_rank": 8589934592}}'
    ```

    ## Releases

    All that have the offload connector.

    ## Sources

    vllm-ascend's recompute_cpu_offload/manager.py (`_derive_cpu_config`, 0.27.1rc1) and vLLM's v1/core/block_pool.py;
    sizes of models from their config.json.
    """
    facts = model_of(node)
    geometry = geometry_of(node, facts, deployment.target)
    for connector in served(node, deployment.target):
        place = _place(connector)
        if place is None:
            continue
        if _not_positive(connector, deployment):
            yield Hit(place, *_nothing_left(seat(node)))
            continue
        budget = budget_of(node, connector, deployment.target)
        if budget is None or budget.per_rank_bytes is None or geometry is None:
            continue
        blocks = host_blocks(budget.per_rank_bytes, geometry.block_bytes)
        null = 0 if connector.bundled_in(deployment.target) else 1
        if blocks - null < 1:
            yield Hit(place, *_no_block(budget.per_rank_bytes, geometry, null, seat(node)))
            continue
        length, ranks = longest_request(node, facts), _context_ranks(node)
        need = geometry.blocks_for(length, ranks) + 1 if length and ranks else None
        if length and need and blocks < need:
            message = _no_request(budget.per_rank_bytes, geometry, (length, need), seat(node))
            yield Hit(place, *message, severity="warning")


def _place(connector: Connector) -> Origin | None:
    for key in (PER_RANK, TOTAL, "kv_connector"):
        found = connector.option(key) or (connector.tree.get(key) if key == "kv_connector" else None)
        if found is not None:
            return found.origin
    return None


def _not_positive(connector: Connector, deployment: Deployment) -> bool:
    """Whether a built-in connector without a check is given zero or fewer bytes; the others refuse that at start."""
    if connector.bundled_in(deployment.target) or RENAMED.holds(deployment.target):
        return False
    options = budget_options(connector) or {}
    node = options.get(PER_RANK) or options.get(TOTAL)
    number = node.integer() if node else None
    return number is not None and number <= 0


def _context_ranks(node: NodeLaunch) -> int:
    return (node.prefill_context or 0) * (node.number("decode-context-parallel-size", 1) or 0)


def _nothing_left(on: Noun) -> tuple[Msg, Msg]:
    return (
        Msg(
            "a budget of zero or less leaves only the null block: no preempted request is ever saved",
            "预算为零或更小时只剩一个空块：任何被抢占的请求都不会被保存",
        ),
        Msg(
            f'write bytes per {on.en}, such as "{PER_RANK}": 17179869184',
            f'写{on.each_zh} 的字节数，例如 "{PER_RANK}": 17179869184',
        ),
    )


def _no_block(have: int, geometry: Geometry, null: int, on: Noun) -> tuple[Msg, Msg]:
    block, least = human_size(geometry.block_bytes), geometry.block_bytes * (1 + null)
    about, about_zh = ("", "") if geometry.exact else ("at least ", "至少 ")
    lost = ", and one block is lost to the null block" if null else ""
    lost_zh = "，而且有一块要用作空块" if null else ""
    return (
        Msg(
            (
                f"{human_size(have)} per {on.en} is too small for even one block: a block takes {about}{block} on "
                f"each {on.en}{lost}"
            ),
            f"{on.each_zh} {human_size(have)} 连一块都放不下：{on.each_zh} 上一块占 {about_zh}{block}{lost_zh}",
        ),
        Msg(
            f"give each {on.en} {about}{human_size(least)}, or better, what one full-length request needs",
            f"{on.each_zh} 至少给 {human_size(least)}，最好够放一个最长的请求",
        ),
    )


def _no_request(have: int, geometry: Geometry, wanted: tuple[int, int], on: Noun) -> tuple[Msg, Msg]:
    length, need = wanted
    size = need * geometry.block_bytes
    about, about_zh = ("", "") if geometry.exact else ("at least ", "至少 ")
    return (
        Msg(
            f"{human_size(have)} per {on.en} cannot hold one request of {length} tokens: it needs {need} blocks, "
            f"{about}{human_size(size)} on each {on.en}",
            f"{on.each_zh} {human_size(have)} 放不下一个 {length} 个 token 的请求：它需要 {need} 块，"
            f"{on.each_zh} 上占 {about_zh}{human_size(size)}",
        ),
        Msg(
            f'"{PER_RANK}": {size} holds one full-length request; multiply by how many are preempted at once',
            f'"{PER_RANK}": {size} 能放一个最长的请求；会同时抢占几个，就要乘以几',
        ),
    )
