"""PD409 dense-internal-dp-port."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.places import seen
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.connector_ports import kv_ports
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.models.known import model_of

ZH = """
稠密模型使用内部数据并行：所有 rank 算出同一个 KV 端口

## 作用

当稠密模型在一条命令里启动多个 DP rank，而本侧的连接器要监听 kv_port 时报告。

## 为什么重要

对稠密模型，vLLM 会在每个引擎进程里把 DP rank 归零，于是各 rank 绑定同样的 KV 端口，除第一个以外都可能失败。

## 适用版本

vllm-ascend 的所有版本；由代码推断，未在硬件上运行。

## 来源

vllm/v1/engine/core.py（稠密模型的 data_parallel_rank 归零），0.23.0 与 0.27.1；
vllm_ascend 各连接器使用 data_parallel_rank。
"""


@rule("PD409", "dense-internal-dp-port", "warning", zh=ZH, confidence="medium", needs="C R")
def dense_internal_dp_port(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Internal data parallelism of a dense model: all ranks compute the same kv port.

    ## What it does

    Reports a dense model for which one command starts several DP ranks, where this side's connector listens on kv_port.

    ## Why it matters

    For a dense model vLLM sets the DP rank of every engine process back to 0, so that all ranks bind the same kv
    ports and all but the first may fail.

    ## Example

    ```bash
    # target: 0.26.0rc1
    vllm serve Qwen/Qwen3-32B --data-parallel-size 2 --tensor-parallel-size 4 --port 8100 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000"}'
    ```

    ## Use instead

    ```bash
    # target: 0.26.0rc1
    vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --port 8100 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36000"}' &
    vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --port 8101 \
      --kv-transfer-config '{"kv_connector": "MooncakeConnectorV1", "kv_role": "kv_producer", "kv_port": "36100"}' &
    ```

    ## Releases

    All of vllm-ascend; read in the code, not run on hardware.

    ## Sources

    vllm/v1/engine/core.py (data_parallel_rank of a dense model is set to 0) at 0.23.0 and 0.27.1; the connectors of
    vllm_ascend use data_parallel_rank.
    """
    facts, engines = model_of(node), node.local_engines
    if not deployment.target.is_ascend or node.external_dp or facts is None or facts.moe is not False:
        return
    if engines is None or engines < 2:
        return
    for connector in connectors(node.kv_transfer):
        bound = kv_ports(node, connector)
        if bound is None or not bound.binds:
            continue
        yield Hit(
            bound.origin,
            Msg(
                f"{engines} ranks of a dense model ({facts.family}) compute the same kv ports from {bound.first}",
                f"稠密模型（{facts.family}）的 {engines} 个 rank 会算出同样的 KV 端口（从 {bound.first} 起）",
            ),
            Msg(
                f"start {engines} instances without --data-parallel-size, each with its own --port and kv_port",
                f"启动 {engines} 个不带 --data-parallel-size 的实例，各用自己的 --port 和 kv_port",
            ),
            related=seen(node, "data-parallel-size", "DP size", "DP 大小"),
        )
