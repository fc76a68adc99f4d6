"""PD114 feature-conflict."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd1_role.combined import combined
from pd_launch.launcher.rules.pd1_role.option_pairs import conflicts
from pd_launch.launcher.rules.pd1_role.vllm_bounds import bounds
from pd_launch.launcher.rules.pd1_role.vllm_needs import needs
from pd_launch.launcher.rules.pd1_role.vllm_pairs import vllm_conflicts
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg

ZH = r"""
两个选项不能同时使用，或者一个缺少另一个

## 作用

检查 `--additional-config` 中调度器以外的成对选项：融合 MC2 与分层 MC2；reduce-sample 与 lm-head 张量并行；
混合放置与共享专家 DP 或多流重叠；稀疏 KV 卸载与稀疏 SFA C8 缓存、流水线并行或上下文并行；转储配置写了两次；
打开了静态核却没有 npugraph_ex；Xlite 图与流水线并行或多于一个草稿 token；打开了 FlashComm 却没有张量并行或专家并行。
还检查 `--prefill-context-parallel-size` 大于 1 时与数据并行同时使用（0.22 到 0.24），
或者没有 V2 model runner（0.25 起）；以及 `enable_dsa_cp` 与两者之一同时使用（0.30.0rc1 起）。vLLM 自身的选项：
睡眠模式与不支持它的连接器，以及与 `--dtype` 不同的浮点 `--kv-cache-dtype`（vLLM 0.33.0 起）；
`--kv-offloading-size` 会取代所配置的连接器；`--async-scheduling` 与 ngram 一类的草稿；
`--enable-return-routed-experts` 与附带的卸载连接器。还检查必须搭配另一个选项、单独写会被拒绝的选项：
自动工具选择没有解析器，输出日志没有请求日志，ngram 草稿没有 token 数，冗余专家没有 EPLB，torch profiler 没有目录，
编码器缓存连接器没有角色，多端口负载均衡没有 rank；
以及必须整除另一个数、或不能超过另一个数的值：DCP 与 TP 或 PCP、`--nnodes` 与 rank 总数、LoRA 数量、
`--max-num-active-seqs`、TP 与已知模型的注意力头数；
还有 `--device-ids` 里重复的设备。也检查默认值不满足要求的选项：
只有一个 rank 时的 `--data-parallel-rank` 与外部负载均衡，
没有 DeepEP 的微批（`--enable-dbo`、`--ubatch-size`），大于 `--offload-group-size` 的 `--offload-num-in-group`，
没有草稿模型的 EAGLE 等方法，没有选定后端的 `disable_any_whitespace`。

另有一张表列出 vLLM 拒绝的其他组合及其版本：`--enable-return-routed-experts` 与流水线并行、上下文并行或 P/D 连接器，
HiSparseConnector 与多个流水线阶段、DCP 或完整图，没有专家并行的 EPLB 及其异步形式，弹性专家并行，`--nnodes` 与 Ray，
`--use-replayssm` 与 KV 连接器，编码器缓存连接器 ECCPUConnector 与 ECMooncakeConnector，OffloadingConnector、
MooncakeStoreConnector 与 NixlConnector 拒绝的选项组合，自适应验证等草稿选项，
以及与对象内容重复的参数（`--spec-tokens`、`--attention-backend`）。只对某些模型才拒绝的组合不报告；
vllm-ascend 上不检查这张表。

## 为什么重要

引擎在启动时发现矛盾就会退出。`--kv-offloading-size` 更麻烦：引擎能正常启动，但所配置的连接器没有启动，KV 永远传不过来。

## 适用版本

读取这两个选项的所有 vllm-ascend 版本；reduce-sample 与 lm-head TP 为 <all reduce-sample-refusals>。
vLLM 的浮点缓存类型：从 <since float-cache-must-match> 起；异步调度与草稿：到 <last async-refuses-drafts>；
表中的组合：从引擎拒绝它的版本起；其余为所有版本。

## 来源

vllm_ascend/platform.py 与 vllm_ascend/ascend_config.py，0.18.0 到 0.26.0rc1 的安装包与 0.28.0rc1 到 0.30.0rc2 的源码包
（0.30.0rc1：ascend_config.py 第 703、1014 行）；vLLM 0.33.0 的 vllm/config/vllm.py 第 1263、1492 行，
以及各连接器的 `supports_sleep_mode`。其余的在 vLLM 0.32.0 上运行过：`create_engine_config`（tests/differential）。
"""


@rule("PD114", "feature-conflict", "error", zh=ZH, needs="C R")
def feature_conflict(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Two options that cannot be combined, or one without another that it needs.

    ## What it does

    Checks pairs of options of `--additional-config` outside the scheduler: fused MC2 with hierarchical MC2,
    reduce-sample with lm-head tensor parallelism, mixed placement with shared-expert DP or multistream overlap, sparse
    KV offload with the sparse SFA C8 cache or with pipeline or context parallelism, a dump configuration given twice,
    the static kernel without npugraph_ex, Xlite graphs with pipeline parallelism or more than one draft token, and
    FlashComm without tensor or expert parallelism. Also `--prefill-context-parallel-size` above 1 with data parallelism
    (0.22 to 0.24) or without the V2 model runner (from 0.25), and `enable_dsa_cp` with either (from 0.30.0rc1). Of
    vLLM's own options: sleep mode with a connector that does not support it, a floating-point `--kv-cache-dtype` other
    than `--dtype` (from vLLM 0.33.0), `--kv-offloading-size`, which replaces the configured connector,
    `--async-scheduling` with ngram drafting and similar methods, and `--enable-return-routed-experts` with the bundled
    offload connector.

    Also options that are refused without another one: automatic tool choice without its parser, logged outputs without
    logged requests, ngram drafts without their number, redundant experts without EPLB, the torch profiler without its
    folder, an encoder cache connector without its role, the multi-port load balancer without ranks; and numbers that
    must divide or bound each other: DCP and TP or PCP, `--nnodes` and all ranks, LoRAs on the device and in host
    memory, `--max-num-active-seqs` and `--max-num-seqs`, TP and the attention heads of a model that is known; and a
    device that `--device-ids` names twice. Also options that another one's default does not allow:
    `--data-parallel-rank` and external load balancing with one rank, microbatches (`--enable-dbo`, `--ubatch-size`)
    without DeepEP, `--offload-num-in-group` above `--offload-group-size`, EAGLE and similar drafts without a model, and
    `disable_any_whitespace` without a backend.

    A table holds further refusals of vLLM, each with its releases: `--enable-return-routed-experts` with pipeline or
    context parallelism and with P/D connectors, HiSparseConnector with several stages, DCP or full graphs, EPLB without
    expert parallelism and its asynchronous form, elastic expert parallelism, `--nnodes` with Ray, `--use-replayssm`
    with KV connectors, the encoder cache connectors ECCPUConnector and ECMooncakeConnector, what OffloadingConnector,
    MooncakeStoreConnector and NixlConnector refuse among their own options, adaptive verification and other options of
    drafts, and flags that repeat what a JSON object says (`--spec-tokens`, `--attention-backend`). What is refused only
    for some models is not reported, and the table is not used for vllm-ascend.

    ## Why it matters

    The engine finds the contradiction at start and exits. `--kv-offloading-size` is worse: the engine starts, the
    configured connector does not, and no KV ever arrives.

    ## Example

    ```bash
    # target: 0.25.1rc1
    vllm serve deepseek-ai/DeepSeek-V3.1 --tensor-parallel-size 8 --enable-expert-parallel \
      --additional-config '{"enable_fused_mc2": 1, "enable_mc2_hierarchy_comm": true}'
    ```

    ## Use instead

    ```bash
    # target: 0.25.1rc1
    vllm serve deepseek-ai/DeepSeek-V3.1 --tensor-parallel-size 8 --enable-expert-parallel \
      --additional-config '{"enable_fused_mc2": 1}'
    ```

    ## Releases

    All of vllm-ascend that read both options; reduce-sample with lm-head TP in <all reduce-sample-refusals>. Of vLLM
    the floating-point cache from <since float-cache-must-match>, async scheduling with drafts up to
    <last async-refuses-drafts>; each row of the table in the releases that refuse it; the others in all.

    ## Sources

    vllm_ascend/platform.py and vllm_ascend/ascend_config.py in the wheels of 0.18.0 to 0.26.0rc1 and the source
    packages of 0.28.0rc1 to 0.30.0rc2 (0.30.0rc1: ascend_config.py lines 703 and 1014); vllm/config/vllm.py lines 1263
    and 1492 at 0.33.0, and `supports_sleep_mode` of its connectors. The others were run: `create_engine_config` of
    vLLM 0.32.0 (tests/differential).
    """
    target = deployment.target
    of_platform = conflicts(node, target) if target.is_ascend else ()
    for conflict in (
        *of_platform,
        *vllm_conflicts(node, target),
        *needs(node, target),
        *bounds(node, target),
        *combined(node, target, idle=False),
    ):
        yield Hit(
            conflict.place,
            Msg(conflict.en, conflict.zh),
            conflict.help or Msg("keep only one of the two", "两者只保留一个"),
            related=((conflict.other, Msg("the other one is here", "另一个在这里")),) if conflict.other else (),
        )
