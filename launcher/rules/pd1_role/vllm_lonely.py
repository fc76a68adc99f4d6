"""Options of vLLM that are refused unless another one has a certain value, which its default is not: of PD114."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd1_role.option_pairs import Conflict
from pd_launch.launcher.rules.places import surely_absent
from pd_launch.schemas.core.launch import NodeLaunch, is_unknown
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.engine.speculation import TOKENS, config_of
from pd_launch.schemas.releases.stock import (
    DRAFT_MODEL,
    EXTERNAL_RANKS,
    MICROBATCHES,
    MICROBATCHES_ON_ROCM,
    PREFETCH_GROUP,
)

_BACKENDS = ("deepep_low_latency", "deepep_high_throughput", "nixl_ep")
_DEFAULT_BACKEND = "allgather_reducescatter"
_MODEL_METHODS = ("draft_model", "eagle", "eagle3", "medusa", "mlp_speculator", "custom_class")
"""Methods that draft with a model of their own."""


def lonely(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    """Yield what ``target``'s vLLM refuses for want of another option's value, whatever the model is."""
    yield from _balanced(node, target)
    yield from _prefetched(node, target)
    yield from _microbatches(node, target)
    yield from _drafts(node, target)


def _balanced(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    """A rank that is started by itself is one of several."""
    name = next((n for n in ("data-parallel-rank", "data-parallel-external-lb") if node.arg(n) is not None), None)
    ranks = node.number("data-parallel-size", 1)
    if name is None or ranks is None or ranks > 1 or node.program == "dynamo" or not EXTERNAL_RANKS.holds(target):
        return
    if is_unknown(node.value(name)) or (name == "data-parallel-external-lb" and not node.switch(name)):
        return  # what numbers the ranks may say how many there are
    written = node.value("data-parallel-size")
    yield Conflict(
        node.named(name)[-1].origin,
        f"--{name} needs --data-parallel-size of 2 or more: the engine refuses it with one rank",
        f"--{name} 需要 --data-parallel-size 不小于 2：只有一个 rank 时引擎会拒绝",
        written.origin if written is not None else None,
        Msg(f"write --data-parallel-size, or leave --{name} out", f"写上 --data-parallel-size，或去掉 --{name}"),
    )


def _prefetched(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    written, size = node.value("offload-num-in-group"), node.value("offload-group-size")
    inside, group = (written.integer() if written else None), (size.integer() if size else None)
    if written is None or size is None or inside is None or group is None or not PREFETCH_GROUP.holds(target):
        return
    if 0 < group < inside:
        yield Conflict(
            written.origin,
            f"--offload-num-in-group {inside} is above --offload-group-size {group}: the engine refuses this",
            f"--offload-num-in-group {inside} 大于 --offload-group-size {group}：引擎会拒绝",
            size.origin,
            Msg(f"write {group} or less", f"写 {group} 或更小"),
        )


def _microbatches(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    number = node.value("ubatch-size")
    name = "enable-dbo" if node.switch("enable-dbo") else "ubatch-size"
    several = name == "enable-dbo" or (number is not None and (number.integer() or 0) > 1)
    if not several or not MICROBATCHES.holds(target):
        return
    written = node.value("all2all-backend")
    chosen = written.string() if written is not None else None
    if written is None and surely_absent(node, "all2all-backend"):
        chosen = _DEFAULT_BACKEND
    if chosen is None or chosen in _BACKENDS or (chosen == _DEFAULT_BACKEND and MICROBATCHES_ON_ROCM.holds(target)):
        return
    yield Conflict(
        node.named(name)[-1].origin,
        f"--{name} needs an --all2all-backend that overlaps, not {chosen}: the engine refuses it",
        f"--{name} 需要能重叠通信的 --all2all-backend，不能是 {chosen}：引擎会拒绝",
        written.origin if written is not None else None,
        Msg("write --all2all-backend deepep_low_latency, for example", "例如写 --all2all-backend deepep_low_latency"),
    )


def _drafts(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    config = config_of(node)
    if config is None or not config.known or not isinstance(config.value, dict) or not DRAFT_MODEL.holds(target):
        return
    method = config.get("method")
    if method is None or method.value not in _MODEL_METHODS or config.get(TOKENS) is None:
        return
    if config.get("model") is None and surely_absent(node, "spec-model"):
        yield Conflict(
            method.origin,
            f"drafting with {method.value} needs a model: the engine refuses it without one",
            f"{method.value} 草稿需要草稿模型：没有时引擎会拒绝",
            None,
            Msg('add "model": "PATH"', '加上 "model": "路径"'),
        )
