"""Sizes and lists of vLLM that must fit one another, whatever the model: a part of rule PD114."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd1_role.option_pairs import Conflict
from pd_launch.launcher.rules.pd1_role.vllm_lonely import lonely
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.words import series
from pd_launch.schemas.releases.stock import ACTIVE_BOUND, CONTEXT_SPANS, DEVICES_ONCE


def bounds(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    """Yield what ``target``'s vLLM refuses; vllm-ascend changes its configuration before it is looked at."""
    if not target.is_ascend:
        yield from _active(node, target)
        yield from _spans(node, target)
        yield from _devices(node, target)
        yield from lonely(node, target)


def _active(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    """Both are written: the default of --max-num-seqs depends on the device."""
    active, most = node.value("max-num-active-seqs"), node.value("max-num-seqs")
    if active is None or most is None or not ACTIVE_BOUND.holds(target):
        return
    low, high = active.integer(), most.integer()
    if low is not None and high is not None and low > high:
        yield Conflict(
            active.origin,
            f"--max-num-active-seqs {low} is above --max-num-seqs {high}: the engine refuses this",
            f"--max-num-active-seqs {low} 大于 --max-num-seqs {high}：引擎会拒绝",
            most.origin,
            Msg(f"write {high} or less", f"写 {high} 或更小"),
        )


def _spans(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    """With a prefill context, the decode context is none, the same ranks, or all ranks."""
    written, prefill, tensor = node.value("decode-context-parallel-size"), node.prefill_context, node.tensor
    size = written.integer() if written else None
    if written is None or size is None or prefill is None or tensor is None or prefill < 2 or tensor < 1:
        return
    right = sorted({1, prefill, tensor * prefill})
    if size > 1 and size not in right and CONTEXT_SPANS.holds(target):
        listed = series([str(number) for number in right])
        yield Conflict(
            written.origin,
            f"decode context parallel size {size} does not fit prefill context parallel size {prefill} "
            f"with tensor-parallel size {tensor}",
            f"解码上下文并行大小 {size} 与预填充上下文并行大小 {prefill}、张量并行大小 {tensor} 不匹配",
            None,
            Msg(f"write one of {listed.en}", f"请写 {listed.zh} 之一"),
        )


def _devices(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    written = node.value("device-ids")
    text = written.string() if written is not None else None
    if written is None or text is None or not DEVICES_ONCE.holds(target):
        return
    devices = [part.strip() for part in text.split(",")]
    twice = next((device for i, device in enumerate(devices) if device and device in devices[:i]), None)
    if twice is not None:
        yield Conflict(
            written.origin,
            f"--device-ids names device {twice} twice: the engine refuses this",
            f"--device-ids 里设备 {twice} 写了两次：引擎会拒绝",
            None,
            Msg("name each device once", "每个设备只写一次"),
        )
