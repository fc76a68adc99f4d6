"""PD503 capture-sizes."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.places import at, seen
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.graphs import MAX_SIZE, SIZES, Graphs, graphs_of, largest_made
from pd_launch.schemas.engine.sides import side_of
from pd_launch.schemas.engine.speculation import speculative_tokens, step_tokens

_DEFAULT_CEILING = 512

ZH = """
图捕获大小没有覆盖解码批次，或者互相矛盾

## 作用

检查写明的 cudagraph_capture_sizes 与 max_cudagraph_capture_size。两项都写了却不一致、
同一项既写在 --compilation-config 里又写成单独的选项、列表为空，或者所有大小都小于 1 + 推测 token 数时，
引擎会拒绝（错误）；最大的捕获大小小于解码满载时一步的 token 数是警告（预填充节点除外）。
在昇腾的解码节点上，使用 FULL 模式而两项都没有写时，还会检查默认的捕获大小是否够满载的一步使用。
关闭图模式（--enforce-eager、cudagraph_mode NONE）时不检查。

## 为什么重要

批次超过最大捕获大小就不会用图执行：偏偏在满载时，解码的每一步都会变慢。

## 适用版本

所有版本。

## 来源

vllm/config/vllm.py（_set_cudagraph_sizes）与 vllm/config/compilation.py，0.27.1 与 0.32.0；
vllm_ascend/utils.py 的同类警告；vllm-ascend PR 16623。
"""


@rule("PD503", "capture-sizes", "warning", zh=ZH, needs="C R")
def capture_sizes(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Graph capture sizes do not cover the decode batch, or contradict each other.

    ## What it does

    Looks at cudagraph_capture_sizes and max_cudagraph_capture_size where they are set. The engine refuses (error) two
    that differ, one set both in --compilation-config and by its own option, an empty list, and sizes that are all below
    1 + speculative tokens. A largest size that does not cover a full decode step is a warning, except on a prefill
    node; on a decode node of vllm-ascend in a FULL mode so is a step that the sizes it makes itself (1, 2, 4, then
    steps of 8) do not reach. Silent without graphs (--enforce-eager, cudagraph_mode NONE).

    ## Why it matters

    A batch above the largest captured size runs without a graph: decoding gets slower just when the node is full.

    ## Example

    ```bash
    vllm serve /models/m --max-num-seqs 64 --max-num-batched-tokens 64 \
      --compilation-config '{"cudagraph_mode": "FULL_DECODE_ONLY", "cudagraph_capture_sizes": [8, 16, 32]}' \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --max-num-seqs 64 --max-num-batched-tokens 64 \
      --compilation-config '{"cudagraph_mode": "FULL_DECODE_ONLY", "cudagraph_capture_sizes": [8, 16, 32, 64]}' \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ## Releases

    All.

    ## Sources

    vllm/config/vllm.py (_set_cudagraph_sizes) and vllm/config/compilation.py at 0.27.1 and 0.32.0; the similar warning
    in vllm_ascend/utils.py; vllm-ascend pull request 16623.
    """
    graphs = graphs_of(node)
    if graphs is None or not graphs.on:
        return
    refused = list(_refused(node, graphs))
    yield from refused
    if not refused and side_of(node) != "prefill":
        yield from _uncovered(node, graphs)
        if deployment.target.is_ascend and side_of(node) == "decode":
            yield from _off_grid(node, graphs)


def _refused(node: NodeLaunch, graphs: Graphs) -> Iterator[Hit]:
    for name, place, other in graphs.twice:
        yield Hit(
            place,
            Msg(
                f"{name} is set both in --compilation-config and by its own option: the engine refuses that",
                f"{name} 既写在 --compilation-config 里又写成单独的选项：引擎会拒绝",
            ),
            Msg("keep one of them", "只保留一处"),
            severity="error",
            related=((other, Msg("the other one", "另一处")),),
        )
    if graphs.sizes is None or graphs.sizes_at is None:
        return
    most, batched = graphs.most, node.number("max-num-batched-tokens", 0)
    kept = [size for size in graphs.sizes if not batched or size <= batched]
    if not graphs.sizes:
        yield _error(graphs.sizes_at, "no sizes", "一个大小也没有", "write at least one size", "至少写一个大小")
    elif most is not None and graphs.most_at is not None and kept and most != max(kept) and batched is not None:
        yield Hit(
            graphs.most_at,
            Msg(
                f"{MAX_SIZE} {most} is not the largest usable size of {SIZES}, {max(kept)}: the engine refuses this",
                f"{MAX_SIZE} {most} 不等于 {SIZES} 中可用的最大值 {max(kept)}：引擎会拒绝",
            ),
            Msg(f"write {max(kept)}, or leave {MAX_SIZE} out", f"写 {max(kept)}，或去掉 {MAX_SIZE}"),
            severity="error",
            related=((graphs.sizes_at, Msg("the sizes", "各个大小")),),
        )
    else:
        yield from _below_drafts(node, graphs.sizes, graphs.sizes_at)


def _below_drafts(node: NodeLaunch, sizes: list[int], place: Origin) -> Iterator[Hit]:
    drafts = speculative_tokens(node)
    if drafts and max(sizes) < 1 + drafts:
        yield _error(
            place,
            f"all sizes are below 1 + {drafts} speculative tokens: none remains",
            f"所有大小都小于 1 + {drafts} 个推测 token：没有可用的大小",
            f"write multiples of {1 + drafts}",
            f"写 {1 + drafts} 的倍数",
        )


def _error(place: Origin, en: str, zh: str, advice: str, advice_zh: str) -> Hit:
    return Hit(
        place,
        Msg(f"{SIZES}: {en}; the engine refuses this", f"{SIZES}：{zh}；引擎会拒绝"),
        Msg(advice, advice_zh),
        severity="error",
    )


def _uncovered(node: NodeLaunch, graphs: Graphs) -> Iterator[Hit]:
    need, batched = step_tokens(node), node.number("max-num-batched-tokens", 0)
    if need is None or batched is None:
        return
    if batched > 0:
        need = min(need, batched)
    largest, place = (max(graphs.sizes), graphs.sizes_at) if graphs.sizes else (graphs.most, graphs.most_at)
    if largest is not None and not graphs.sizes and node.value("performance-mode") is None:
        largest = largest_made(largest, batched)
    if largest is None or place is None or largest >= need:
        return
    yield Hit(
        place,
        Msg(
            f"the largest captured size is {largest}, but a full decode step has {need} tokens",
            f"最大的捕获大小是 {largest}，但解码满载时一步有 {need} 个 token",
        ),
        Msg(f"capture up to {need}", f"捕获大小要到 {need}"),
        related=seen(node, "max-num-seqs", "max_num_seqs", "max_num_seqs"),
    )


def _off_grid(node: NodeLaunch, graphs: Graphs) -> Iterator[Hit]:
    """Look at sizes that vllm-ascend makes itself: up to a full step, and no further than the last one on the grid."""
    need, batched = step_tokens(node), node.number("max-num-batched-tokens", 0)
    unwritten = graphs.sizes is None and graphs.most is None and node.value("performance-mode") is None
    if not unwritten or not graphs.whole_steps or need is None or batched is None:
        return
    need = min(need, batched) if batched > 0 else need
    largest = largest_made(need, batched)
    if need > _DEFAULT_CEILING or largest >= need:
        return
    yield Hit(
        at(node, "max-num-seqs"),
        Msg(
            f"a full decode step has {need} tokens, and the largest size captured by default is {largest}",
            f"解码满载时一步有 {need} 个 token，而默认的最大捕获大小是 {largest}",
        ),
        Msg(f"write {SIZES} up to {need}", f"写明 {SIZES}，最大到 {need}"),
    )
