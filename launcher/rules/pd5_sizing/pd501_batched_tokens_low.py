"""PD501 batched-tokens-low."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, set_value
from pd_launch.launcher.rules.places import at, seen
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.sides import side_of
from pd_launch.schemas.engine.speculation import config_of, speculative_tokens, step_tokens

ZH = """
解码节点一步排不下全部序列

## 作用

比较 --max-num-batched-tokens 与 --max-num-seqs：前者小于后者是错误（任何节点）；在解码节点上，小于 max_num_seqs ×
（1 + 推测 token 数）是警告。

## 为什么重要

小于 max_num_seqs 时引擎拒绝启动；小于 max_num_seqs ×（1 + 推测 token 数）时，满载的一步排不下全部序列和草稿，
部分请求每步都要等待。

## 适用版本

所有版本。

## 来源

vllm/config/scheduler.py（verify_max_model_len），0.23.0、0.27.1、0.32.0；指南中解码节点 max_num_batched_tokens 的写法。
"""


@rule("PD501", "batched-tokens-low", "error", zh=ZH)
def batched_tokens_low(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The node cannot schedule every sequence in one step.

    ## What it does

    Compares --max-num-batched-tokens with --max-num-seqs: an error where it is less (on any node), a warning on a
    decode node where it is less than max_num_seqs × (1 + speculative tokens).

    ## Why it matters

    Below max_num_seqs the engine refuses to start; below max_num_seqs × (1 + speculative tokens) a full step has no
    room for all sequences with their drafts, so some requests wait in every step.

    ## Example

    ```bash
    vllm serve /models/m --max-num-seqs 64 --max-num-batched-tokens 240 \
      --speculative-config '{"num_speculative_tokens": 3, "method": "deepseek_mtp"}' \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --max-num-seqs 64 --max-num-batched-tokens 256 \
      --speculative-config '{"num_speculative_tokens": 3, "method": "deepseek_mtp"}' \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer"}'
    ```

    ## Releases

    All.

    ## Sources

    vllm/config/scheduler.py (verify_max_model_len) at 0.23.0, 0.27.1 and 0.32.0; the guides' rule for decode nodes.
    """
    batched, sequences = node.number("max-num-batched-tokens", 0), node.number("max-num-seqs", 0)
    if not batched or not sequences or batched < 0 or sequences < 0:
        return
    place = at(node, "max-num-batched-tokens")
    related = seen(node, "max-num-seqs", "max_num_seqs", "max_num_seqs")
    if batched < sequences:
        yield Hit(
            place,
            Msg(
                f"max_num_batched_tokens {batched} is less than max_num_seqs {sequences}: the engine refuses this",
                f"max_num_batched_tokens {batched} 小于 max_num_seqs {sequences}：引擎会拒绝",
            ),
            Msg(f"write at least {sequences}", f"至少写 {sequences}"),
            related=related,
        )
        return
    need, drafts = step_tokens(node), speculative_tokens(node)
    config = config_of(node)
    if side_of(node) != "decode" or need is None or batched >= need:
        return
    value = node.value("max-num-batched-tokens")
    right = set_value(value, str(need)) if value is not None else None
    yield Hit(
        place,
        Msg(
            f"max_num_batched_tokens {batched} is less than {sequences} × (1 + {drafts}) = {need}: not all "
            "sequences and their drafts fit into one step",
            f"max_num_batched_tokens {batched} 小于 {sequences} × (1 + {drafts}) = {need}：一步排不下全部序列和草稿",
        ),
        Msg(f"write {need}, or fewer sequences or speculative tokens", f"写 {need}，或者减少序列数或推测 token 数"),
        severity="warning",
        related=related + (((config.origin, Msg("speculative tokens", "推测 token 数")),) if config else ()),
        fix=fix(Msg(f"write {need}", f"写成 {need}"), right),
    )
