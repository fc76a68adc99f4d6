"""PD404 dense-external-dp."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.places import at
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.engine.sides import ROLE_SIDES
from pd_launch.schemas.models.known import model_of

ZH = """
稠密模型使用外部数据并行

## 作用

模型是稠密模型（没有专家），而每个 DP rank 各由一条命令启动（--data-parallel-rank、--data-parallel-external-lb）时报告。
模型未知时不报告。

## 为什么重要

vLLM 会拒绝这种组合并退出：稠密模型的各个 rank 之间没有要共享的专家，它们就是互不相关的实例。

## 适用版本

所有版本。

## 来源

vllm/engine/arg_utils.py（create_engine_config），0.23.0、0.27.1、0.32.0。
"""


@rule("PD404", "dense-external-dp", "error", zh=ZH)
def dense_external_dp(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""A dense model is launched with external data parallelism.

    ## What it does

    Reports a model without experts whose DP ranks are each started by their own command (--data-parallel-rank or
    --data-parallel-external-lb). Silent where the model is not known.

    ## Why it matters

    vLLM refuses this and stops: the ranks of a dense model share nothing, so they are simply separate instances.

    ## Example

    ```bash
    vllm serve Qwen/Qwen3-32B --data-parallel-size 4 --data-parallel-rank 0 --data-parallel-address 192.0.2.11 \
      --data-parallel-rpc-port 12321
    ```

    ## Use instead

    ```bash
    vllm serve Qwen/Qwen3-32B --port 7100
    ```

    ## Releases

    All.

    ## Sources

    vllm/engine/arg_utils.py (create_engine_config) at 0.23.0, 0.27.1 and 0.32.0.
    """
    external = node.external_dp or node.switch("data-parallel-external-lb")
    facts = model_of(node)
    if not external or facts is None or facts.moe is not False or (_ranks(node) or 1) < 2:
        return
    yield Hit(
        at(node, "data-parallel-rank", "data-parallel-external-lb"),
        Msg(
            f"external data parallelism with a dense model ({facts.family}): the engine refuses it",
            f"稠密模型（{facts.family}）使用外部数据并行：引擎会拒绝",
        ),
        Msg(
            "start each rank as a separate instance, without --data-parallel-* options and with its own port and "
            "kv_port; list all of them in the proxy",
            "把每个 rank 作为独立实例启动：不写 --data-parallel-* 选项，各用自己的端口和 kv_port，并全部列在代理里",
        ),
        related=((node.model.origin, Msg("the model", "模型")),) if node.model else (),
    )


def _ranks(node: NodeLaunch) -> int | None:
    """Return the DP size; where it is a template's parameter, the size that the connector is told for this side."""
    if node.data is not None:
        return node.data
    side = ROLE_SIDES.get(node.role or "")
    told = [connector.option(side, "dp_size") for connector in connectors(node.kv_transfer)] if side else []
    sizes = {size.integer() for size in told if size is not None}
    return sizes.pop() if len(sizes) == 1 else None
