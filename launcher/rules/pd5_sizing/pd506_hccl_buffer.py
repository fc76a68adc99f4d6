"""PD506 hccl-buffer."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import fix, set_value
from pd_launch.launcher.rules.places import at
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.memory.hccl import DEFAULT_MIB
from pd_launch.schemas.memory.hccl_need import Need, hccl_need

ZH = """
HCCL_BUFFSIZE 小于专家并行的需要

## 作用

各项都已知时（专家数、top-k、共享专家、隐藏维度、专家并行大小、每步 token 数、硬件），
按 CANN 的公式计算专家并行的分发与合并需要的缓冲区，与 HCCL_BUFFSIZE（没有设置时为 200）比较。
硬件未知时，只在两种公式都不满足时报告。

## 为什么重要

缓冲区太小，遇到第一批较大的请求时 MC2 算子就会报错，整组引擎随之退出。

## 示例

```bash
# target: 0.26.0rc1
export HCCL_BUFFSIZE=256
vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 32 --data-parallel-size-local 16 --enable-expert-parallel \\
  --data-parallel-address 192.0.2.21 --max-num-seqs 64 --max-num-batched-tokens 64 \\
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000"}'
```

## 应当这样写

```bash
# target: 0.26.0rc1
export HCCL_BUFFSIZE=600
vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 32 --data-parallel-size-local 16 --enable-expert-parallel \\
  --data-parallel-address 192.0.2.21 --max-num-seqs 64 --max-num-batched-tokens 64 \\
  --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000"}'
```

## 适用版本

vllm-ascend 的所有版本。

## 来源

CANN 算子文档 MoeDistributeDispatch / MoeDistributeCombine 的缓冲区公式；
vllm_ascend/ascend_forward_context.py 的 MC2 上限。
"""


@rule("PD506", "hccl-buffer", "warning", zh=ZH, confidence="medium", needs="C H R")
def hccl_buffer(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""HCCL_BUFFSIZE is below what expert parallelism needs.

    ## What it does

    Where every term is known (experts, top-k, shared experts, hidden size, expert-parallel size, tokens of a step,
    hardware) it computes by CANN's formulas what dispatch and combine need, and compares it with HCCL_BUFFSIZE (200
    where it is not set). With the hardware unknown it fires only where neither formula is met.

    ## Why it matters

    With too small a buffer the MC2 operators fail at the first large batch, and the engines of the whole group stop.

    ## Example

    ```bash
    # target: 0.26.0rc1
    export HCCL_BUFFSIZE=256
    vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 32 --data-parallel-size-local 16 \
      --enable-expert-parallel \
      --data-parallel-address 192.0.2.21 --max-num-seqs 64 --max-num-batched-tokens 64 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000"}'
    ```

    ## Use instead

    ```bash
    # target: 0.26.0rc1
    export HCCL_BUFFSIZE=600
    vllm serve /models/deepseek-v3.1-w8a8 --data-parallel-size 32 --data-parallel-size-local 16 \
      --enable-expert-parallel \
      --data-parallel-address 192.0.2.21 --max-num-seqs 64 --max-num-batched-tokens 64 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_consumer", "kv_port": "36000"}'
    ```

    ## Releases

    All of vllm-ascend.

    ## Sources

    CANN's operator documents of MoeDistributeDispatch and MoeDistributeCombine; the MC2 limits in
    vllm_ascend/ascend_forward_context.py.
    """
    variable = node.env.get("HCCL_BUFFSIZE")
    have = DEFAULT_MIB if variable is None else variable.value.integer()
    need = hccl_need(node, deployment)
    if have is None or need is None or have >= need.mib:
        return
    place = variable.value.origin if variable else at(node, "enable-expert-parallel")
    said = f"HCCL_BUFFSIZE {have}" if variable else f"HCCL_BUFFSIZE is not set ({have})"
    said_zh = f"HCCL_BUFFSIZE {have}" if variable else f"没有设置 HCCL_BUFFSIZE（默认 {have}）"
    right = set_value(variable.value, str(need.mib)) if variable else None
    terms = _terms(need)
    yield Hit(
        place,
        Msg(f"{said}: {terms.en} need {need.mib} MiB", f"{said_zh}：{terms.zh}，需要 {need.mib} MiB"),
        Msg(
            f"set HCCL_BUFFSIZE={need.mib} or more, or lower max_num_seqs or max_num_batched_tokens",
            f"把 HCCL_BUFFSIZE 设为 {need.mib} 或更大，或者减小 max_num_seqs、max_num_batched_tokens",
        ),
        related=((at(node, "enable-expert-parallel"), Msg("expert parallelism", "专家并行")),) if variable else (),
        fix=fix(Msg(f"write {need.mib}", f"写成 {need.mib}"), right),
    )


def _terms(need: Need) -> Msg:
    model, kind = need.experts, Msg("fused MC2", "融合 MC2") if need.fused else Msg("MC2", "MC2")
    return Msg(
        f"{kind.en} with {model.experts} experts over {model.ranks} ranks and {need.tokens} tokens per rank and step",
        f"{kind.zh}，{model.ranks} 个 rank 上 {model.experts} 个专家、每个 rank 每步 {need.tokens} 个 token",
    )
