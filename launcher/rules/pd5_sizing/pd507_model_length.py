"""PD507 model-length."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.places import at, seen
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.lengths import longest_request
from pd_launch.schemas.engine.speculation import config_of, extra_slots
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.stock import DRAFTS_APART

ZH = """
max_model_len 与其他上限不匹配

## 作用

检查：max_model_len 大于模型 config.json 的上限（能读到的文件，或者 hub 上该名称的模型所附的文件；
写了 RoPE 扩展设置时不检查）；关闭分块预填充时 max_num_batched_tokens 小于
max_model_len；max_num_batched_tokens 大于 max_num_seqs × max_model_len；
long_prefill_token_threshold 大于 max_model_len；推测解码的草稿用光了每步的 token（vLLM 0.27 及以前）。

## 为什么重要

这些组合会让引擎拒绝启动，留出永远用不到的批次空间，或者拒绝较长的请求。

## 适用版本

所有版本；草稿一项到 vLLM <before drafts-take-no-tokens> 为止。

## 来源

vllm/config/scheduler.py（verify_max_model_len）与 vllm/config/vllm.py（_set_max_num_scheduled_tokens），
0.27.1 与 0.32.0。
"""

_LONGER = ("hf-overrides", "rope-scaling", "rope-theta", "hf-config-path")


@rule("PD507", "model-length", "warning", zh=ZH, needs="C R")
def model_length(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """max_model_len and the batch limits do not work together.

    ## What it does

    Finds a max_model_len above the limit in the model's config.json (a file that can be read, or the one that the hub
    has under exactly this name; not with RoPE settings that extend it); max_num_batched_tokens below max_model_len with
    chunked prefill off, or above max_num_seqs × max_model_len; a long_prefill_token_threshold above max_model_len; and
    drafts that take every token of a step (up to vLLM 0.27).

    ## Why it matters

    Such a combination makes the engine refuse to start, reserves room for batches that cannot occur, or rejects longer
    requests.

    ## Example

    ```bash
    vllm serve /models/m --max-model-len 32768 --max-num-batched-tokens 4096 --no-enable-chunked-prefill
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --max-model-len 32768 --max-num-batched-tokens 32768 --no-enable-chunked-prefill
    ```

    ## Releases

    All; the part on drafts up to vLLM <before drafts-take-no-tokens>.

    ## Sources

    vllm/config/scheduler.py (verify_max_model_len) and vllm/config/vllm.py (_set_max_num_scheduled_tokens) at 0.27.1
    and 0.32.0.
    """
    length = longest_request(node, None)
    if length is not None:
        yield from _model_limit(node, length)
        yield from _batch(node, length)
        yield from _threshold(node, length)
    if not DRAFTS_APART.holds(deployment.target):
        yield from _drafts(node)


def _model_limit(node: NodeLaunch, length: int) -> Iterator[Hit]:
    facts = model_of(node)
    name = node.model.string() if node.model else None
    if facts is None or (node.model_config is None and facts.source != f"config.json of {name}"):
        return  # a copy of the checkpoint may have other limits than its name says
    limit = facts.max_length
    if limit is None or length <= limit or any(node.arg(name) is not None for name in _LONGER):
        return
    if "VLLM_ALLOW_LONG_MAX_MODEL_LEN" in node.env or (node.model_config or {}).get("rope_scaling"):
        return
    yield Hit(
        at(node, "max-model-len"),
        Msg(
            f"max_model_len {length} is above the model's limit {limit}: the engine refuses this",
            f"max_model_len {length} 超过模型上限 {limit}：引擎会拒绝",
        ),
        Msg(
            f"write at most {limit}, or extend the model with --hf-overrides (rope_scaling)",
            f"最多写 {limit}，或用 --hf-overrides（rope_scaling）扩展模型",
        ),
    )


def _batch(node: NodeLaunch, length: int) -> Iterator[Hit]:
    batched, sequences = node.number("max-num-batched-tokens", 0), node.number("max-num-seqs", 0)
    if not batched or batched < 0:
        return
    place = at(node, "max-num-batched-tokens")
    related = seen(node, "max-model-len", "max_model_len", "max_model_len")
    if batched < length and node.switch("enable-chunked-prefill") is False:
        yield Hit(
            place,
            Msg(
                f"chunked prefill is off and max_num_batched_tokens {batched} is below max_model_len {length}: the "
                "engine refuses this",
                f"关闭了分块预填充，而 max_num_batched_tokens {batched} 小于 max_model_len {length}：引擎会拒绝",
            ),
            Msg(f"write at least {length}, or leave chunked prefill on", f"至少写 {length}，或保留分块预填充"),
            severity="error",
            related=related,
        )
    elif sequences and sequences > 0 and batched > sequences * length:
        yield Hit(
            place,
            Msg(
                f"max_num_batched_tokens {batched} is above {sequences} × {length}: no step can be that large",
                f"max_num_batched_tokens {batched} 大于 {sequences} × {length}：不会有这么大的一步",
            ),
            Msg(f"write at most {sequences * length}", f"最多写 {sequences * length}"),
            related=related,
        )


def _threshold(node: NodeLaunch, length: int) -> Iterator[Hit]:
    threshold = node.number("long-prefill-token-threshold", 0)
    if threshold is not None and threshold > length:
        yield Hit(
            at(node, "long-prefill-token-threshold"),
            Msg(
                f"long_prefill_token_threshold {threshold} is above max_model_len {length}: the engine refuses this",
                f"long_prefill_token_threshold {threshold} 大于 max_model_len {length}：引擎会拒绝",
            ),
            Msg(f"write at most {length}", f"最多写 {length}"),
            related=seen(node, "max-model-len", "max_model_len", "max_model_len"),
        )


def _drafts(node: NodeLaunch) -> Iterator[Hit]:
    batched, sequences = node.number("max-num-batched-tokens", 0), node.number("max-num-seqs", 0)
    slots, config = extra_slots(node), config_of(node)
    if not batched or not sequences or not slots or config is None or batched - sequences * slots > 0:
        return
    yield Hit(
        at(node, "max-num-batched-tokens"),
        Msg(
            f"drafting takes {sequences} × {slots} tokens of each step, but max_num_batched_tokens is {batched}: "
            "nothing is left to schedule",
            f"草稿每步要占 {sequences} × {slots} 个 token，而 max_num_batched_tokens 是 {batched}："
            "没有剩余的 token 可以调度",
        ),
        Msg(f"write at least {sequences * (slots + 1)}", f"至少写 {sequences * (slots + 1)}"),
        related=((config.origin, Msg("speculative decoding", "推测解码")),),
    )
