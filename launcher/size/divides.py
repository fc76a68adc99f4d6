"""Sizes that no engine starts with, since a model's heads or layers do not divide by them."""

from __future__ import annotations

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.words import listed
from pd_launch.schemas.memory.sizing_numbers import SizingError
from pd_launch.schemas.models.facts import ModelFacts

_MOST_TENSOR = 128


def refuse_sizes(node: NodeLaunch, facts: ModelFacts | None) -> None:
    """Refuse parallel sizes with which vLLM itself does not start.

    Raises:
        SizingError: it says which size, what it does not divide, and which ones do.
    """
    tensor, context, pipeline = node.tensor, node.number("decode-context-parallel-size", 1), node.pipeline
    if tensor and context and tensor % context:
        give = _listed([n for n in range(1, tensor + 1) if tensor % n == 0])
        raise SizingError(
            Msg(
                f"the decode-context-parallel size {context} does not divide the tensor-parallel size {tensor}, and no "
                f"engine starts with that: give {give.en}",
                f"解码上下文并行大小 {context} 不能整除张量并行大小 {tensor}，引擎无法这样启动：请给出 {give.zh}",
            )
        )
    if facts is None:
        return
    if tensor and not _fits(tensor, facts):
        fitting = [n for n in range(1, _MOST_TENSOR + 1) if _fits(n, facts) and n <= (facts.heads or 1)]
        heads = Msg(f"{facts.heads} attention heads", f"{facts.heads} 个注意力头")
        if facts.kv_heads and facts.attention != "mla" and facts.heads and facts.heads % tensor == 0:
            heads = Msg(f"{facts.kv_heads} KV heads", f"{facts.kv_heads} 个 KV 头")
        give = _listed(fitting)
        raise SizingError(
            Msg(
                f"the tensor-parallel size {tensor} does not divide the model's {heads.en}, and no engine starts with "
                f"that: give {give.en}",
                f"张量并行大小 {tensor} 不能整除模型的 {heads.zh}，引擎无法这样启动：请给出 {give.zh}",
            )
        )
    if pipeline and facts.layers and pipeline > facts.layers:
        raise SizingError(
            Msg(
                f"the pipeline-parallel size {pipeline} is more than the model's {facts.layers} layers, and no engine "
                f"starts with that: give {facts.layers} or less",
                f"流水线并行大小 {pipeline} 大于模型的 {facts.layers} 层，引擎无法这样启动：最多 {facts.layers}",
            )
        )


def _fits(tensor: int, facts: ModelFacts) -> bool:
    """Whether heads divide: all of them by the ranks, and those of the KV cache by the ranks or the other way round."""
    if facts.heads and facts.heads % tensor:
        return False
    kv = facts.kv_heads if facts.attention != "mla" else None
    return not kv or kv % tensor == 0 or tensor % kv == 0


def _listed(numbers: list[int]) -> Msg:
    return listed([str(number) for number in numbers], "or")
