"""PD114 feature-conflict."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd1_role.option_pairs import conflicts
from pd_launch.launcher.rules.pd1_role.vllm_needs import needs
from pd_launch.launcher.rules.pd1_role.vllm_pairs import vllm_conflicts
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg

ZH = r"""
两个选项互相排斥

## 作用

检查 `--additional-config` 中调度器以外的成对选项:融合 MC2 与分层 MC2;reduce-sample 与 lm-head 张量并行;
混合放置与共享专家 DP 或多流重叠;稀疏 KV 卸载与稀疏 SFA C8 缓存、流水线并行或上下文并行;转储配置给了两次;
静态核没有 npugraph_ex;Xlite 图与流水线并行或多于一个草稿 token;以及没有张量并行或专家并行的 FlashComm。
还检查 `--prefill-context-parallel-size` 大于 1 时与数据并行同用(0.22 到 0.24),或者没有 V2 model runner(0.25 起);
以及 `enable_dsa_cp` 与两者之一同用(0.30.0rc1 起)。vLLM 自身的选项:睡眠模式与不支持它的连接器,
以及与 `--dtype` 不同的浮点 `--kv-cache-dtype`(vLLM 0.33.0 起)。

## 为什么重要

引擎在启动时发现矛盾并退出。

## 适用版本

读取这两个选项的所有 vllm-ascend 版本;reduce-sample 与 lm-head TP 为 <all reduce-sample-refusals>。
vLLM 的选项对:从 <since float-cache-must-match> 起。

## 来源

vllm_ascend/platform.py 与 vllm_ascend/ascend_config.py,0.18.0 到 0.26.0rc1 的安装包与 0.28.0rc1 到 0.30.0rc2 的源码包
(0.30.0rc1:ascend_config.py 第 703、1014 行);vLLM 0.33.0 的 vllm/config/vllm.py 第 1263、1492 行,
以及各连接器的 `supports_sleep_mode`。
"""


@rule("PD114", "feature-conflict", "error", zh=ZH, needs="C R")
def feature_conflict(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Two options that exclude each other.

    ## What it does

    Checks pairs of options of `--additional-config` outside the scheduler: fused MC2 with hierarchical MC2,
    reduce-sample with lm-head tensor parallelism, mixed placement with shared-expert DP or multistream overlap,
    sparse KV offload with the sparse SFA C8 cache or with pipeline or context parallelism, a dump configuration given
    twice, the static kernel without npugraph_ex, Xlite graphs with pipeline parallelism or more than one draft token,
    and FlashComm without tensor or expert parallelism. Also `--prefill-context-parallel-size` above 1 with data
    parallelism (0.22 to 0.24) or without the V2 model runner (from 0.25), and `enable_dsa_cp` with either (from
    0.30.0rc1). Of vLLM's own options: sleep mode with a connector that cannot follow it, and a floating-point
    `--kv-cache-dtype` other than `--dtype` (from vLLM 0.33.0).

    ## Why it matters

    The engine finds the contradiction at start and exits.

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

    All of vllm-ascend that read both options; reduce-sample with lm-head TP in <all reduce-sample-refusals>. vLLM's
    pairs: from <since float-cache-must-match>.

    ## Sources

    vllm_ascend/platform.py and vllm_ascend/ascend_config.py in the wheels of 0.18.0 to 0.26.0rc1 and the source
    packages of 0.28.0rc1 to 0.30.0rc2 (0.30.0rc1: ascend_config.py lines 703 and 1014); vllm/config/vllm.py lines 1263
    and 1492 at 0.33.0, and `supports_sleep_mode` of its connectors.
    """
    target = deployment.target
    of_platform = conflicts(node, target) if target.is_ascend else ()
    for conflict in (*of_platform, *vllm_conflicts(node, target), *needs(node, target)):
        yield Hit(
            conflict.place,
            Msg(conflict.en, conflict.zh),
            conflict.help or Msg("keep one of the two", "只保留其中之一"),
            related=((conflict.other, Msg("the other stands here", "另一个在这里")),) if conflict.other else (),
        )
