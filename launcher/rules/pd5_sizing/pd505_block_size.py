"""PD505 block-size."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, set_value
from pd_launch.launcher.rules.places import at, seen
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.models.facts import ModelFacts
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.cpu_blocks import MLA_BLOCK, cpu_step
from pd_launch.schemas.releases.sizing import DEFAULT_INTERLEAVE, FORCED_BLOCK, real_block
from pd_launch.schemas.releases.stock import CPU_MLA_AMX

ZH = """
块大小会被改掉，或者会被拒绝

## 作用

在 vllm-ascend 上检查 --block-size：没有 Mamba 层的模型只要开着前缀缓存或分块预填充（默认开），就会被改成 128
（DeepSeek-V4 允许 32、64、128，其余改为 32），写了别的值是警告；使用 DCP 或 PCP 并有 --kv-transfer-config 时，
块大小必须等于 --cp-kv-cache-interleave-size，否则引擎会拒绝（错误）。
在 CPU 上检查 vLLM 不接受的值：必须是 32 的倍数（0.28.0 及以前是 16 的倍数），否则引擎会拒绝（错误）。
MLA 模型取决于处理器：没有 AMX 时无论写什么都是 16，有 AMX 时必须是 32 的倍数；所以 16 只作提示，
两种处理器上都不对的值是警告。模型未知时不报告。

## 为什么重要

所写的块大小并不是实际生效的：按它算出的块数、预算和两侧的对应关系都会出错。

## 适用版本

vllm-ascend 的所有版本；DeepSeek-V4 的规则自 <since deepseek-v4-blocks> 起。CPU 上的 vLLM 所有版本；
MLA 自 <since cpu-mla-amx> 起。

## 来源

vllm_ascend/utils.py（refresh_block_size）与 vllm_ascend/platform.py（_validate_sfa_dcp_kv_sp），0.18.0 到 0.27.1rc1。
CPU：vllm/platforms/cpu.py（check_and_update_config）及其注意力后端，0.27.1 和 0.32.0，两种处理器都在引擎上试过。
"""


@rule("PD505", "block-size", "warning", zh=ZH, needs="C R")
def block_size(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """A block size will be changed, or refused.

    ## What it does

    Looks at --block-size on vllm-ascend. A model without Mamba layers gets 128 while prefix caching or chunked prefill
    is on (the default); DeepSeek-V4 may have 32, 64 or 128 and gets 32 otherwise: another value is a warning. With DCP
    or PCP and a --kv-transfer-config the block size must equal --cp-kv-cache-interleave-size, or the engine refuses it
    (error). On CPUs it looks for what vLLM refuses: a block must be a multiple of 32 tokens (up to 0.28.0 of 16), or
    the engine does not start (error). For MLA the processor decides: without AMX a block has 16 tokens whatever is
    written, with AMX it must be a multiple of 32; so 16 is an info, and a value that is right on neither is a warning.
    Silent where the model is unknown.

    ## Why it matters

    The block size that is written is not the one in effect: block counts, budgets and what the other side expects are
    then computed from the wrong number.

    ## Example

    ```bash
    # target: 0.26.0rc1
    export HCCL_IF_IP=192.0.2.21
    vllm serve /models/deepseek-v3.1-w8a8 --block-size 64
    ```

    ## Use instead

    ```bash
    # target: 0.26.0rc1
    export HCCL_IF_IP=192.0.2.21
    vllm serve /models/deepseek-v3.1-w8a8 --block-size 128
    ```

    ## Releases

    All of vllm-ascend; the rule for DeepSeek-V4 from <since deepseek-v4-blocks> on. All of vLLM on CPUs; MLA from
    <since cpu-mla-amx> on.

    ## Sources

    vllm_ascend/utils.py (refresh_block_size) and vllm_ascend/platform.py (_validate_sfa_dcp_kv_sp) at 0.18.0 to
    0.27.1rc1. CPUs: vllm/platforms/cpu.py (check_and_update_config) and its attention backends at 0.27.1 and 0.32.0,
    run on both as on processors with and without AMX.
    """
    written = node.number("block-size", 0)
    if not deployment.target.is_ascend:
        facts = model_of(node)
        if written and facts is not None and node.hardware is not None and node.hardware.kind == "cpu":
            yield from _on_cpu(node, deployment, facts, written)
        return
    yield from _interleave(node, written)
    facts = model_of(node)
    if not written or facts is None or facts.hybrid is not False or _keeps_block_size(node):
        return
    real = real_block(written, facts.family, deployment.target)
    if real == written:
        return
    place, value = at(node, "block-size"), node.value("block-size")
    right = set_value(value, str(real)) if value is not None else None
    yield Hit(
        place,
        Msg(
            f"--block-size {written} is changed to {real} for {facts.family}",
            f"对 {facts.family}，--block-size {written} 会被改成 {real}",
        ),
        Msg(f"write {real}", f"写 {real}"),
        fix=fix(Msg(f"write {real}", f"写成 {real}"), right, safe=True),
    )


def _on_cpu(node: NodeLaunch, deployment: Deployment, facts: ModelFacts, written: int) -> Iterator[Hit]:
    """Yield what vLLM on CPU refuses. Hybrid models have their blocks rounded up, and none refused."""
    step, place = cpu_step(deployment.target), at(node, "block-size")
    if facts.hybrid is not False or facts.attention is None or written % step == 0:
        return
    mla = facts.attention == "mla"
    if mla and not CPU_MLA_AMX.holds(deployment.target):
        return
    fitting = -(-written // step) * step
    write = Msg(f"write {fitting}", f"写 {fitting}")
    if not mla:
        yield Hit(
            place,
            Msg(
                f"vLLM on CPU refuses --block-size {written}: it must be a multiple of {step}",
                f"CPU 上的 vLLM 拒绝 --block-size {written}：必须是 {step} 的倍数",
            ),
            write,
            severity="error",
        )
        return
    yield Hit(
        place,
        Msg(
            f"on a CPU with AMX vLLM refuses --block-size {written} for MLA: it must be a multiple of {step}"
            + ("" if written == MLA_BLOCK else f"; without AMX it is changed to {MLA_BLOCK}"),
            f"在有 AMX 的 CPU 上，vLLM 对 MLA 拒绝 --block-size {written}：必须是 {step} 的倍数"
            + ("" if written == MLA_BLOCK else f"；没有 AMX 时会被改成 {MLA_BLOCK}"),
        ),
        Msg(
            f"write {fitting}, which starts on both; without AMX a block has {MLA_BLOCK} tokens whatever is written",
            f"写 {fitting}，两种处理器上都能启动；没有 AMX 时，无论写什么，一块都是 {MLA_BLOCK} 个 token",
        ),
        severity="info" if written == MLA_BLOCK else "warning",
    )


def _keeps_block_size(node: NodeLaunch) -> bool:
    """Whether neither prefix caching nor chunked prefill is on, so that the written size is kept."""
    return node.switch("enable-prefix-caching") is False and node.switch("enable-chunked-prefill") is False


def _interleave(node: NodeLaunch, written: int | None) -> Iterator[Hit]:
    decode, prefill = node.number("decode-context-parallel-size", 1), node.prefill_context
    if decode is None or prefill is None or decode * prefill <= 1 or node.kv_transfer is None:
        return
    flags = [f for f in ("cp-kv-cache-interleave-size", "dcp-kv-cache-interleave-size") if node.arg(f) is not None]
    flag = flags[0] if flags else "cp-kv-cache-interleave-size"
    step = node.number(flag, DEFAULT_INTERLEAVE)
    block = FORCED_BLOCK if written == 0 else written
    if step is None or block is None or block == step:
        return
    if written == 0 and (facts := model_of(node)) is not None and facts.hybrid is not False:
        return
    yield Hit(
        at(node, flag, "block-size", "decode-context-parallel-size", "prefill-context-parallel-size"),
        Msg(
            f"context parallelism with KV transfer: the block size {block} must equal --{flag} {step}",
            f"上下文并行加 KV 传输：块大小 {block} 必须等于 --{flag} {step}",
        ),
        Msg(f"write --{flag} {block}", f"写 --{flag} {block}"),
        severity="error",
        related=seen(node, "block-size", "the block size", "块大小"),
    )
