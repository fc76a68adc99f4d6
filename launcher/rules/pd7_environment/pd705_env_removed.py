"""PD705 env-removed."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.rules.variables import place_of
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.releases.environment import INSTEAD, removed

ZH = """
目标版本已经不再读取的环境变量

## 作用

报告目标版本已经删除、或改成配置项的变量,并给出替代写法。

## 为什么重要

设置它没有任何效果,原来想要的功能可能因此没有打开。

## 适用版本

见各变量:例如 `VLLM_USE_V1` 在表中任何版本都不再读取。

## 来源

vllm/envs.py(0.18.0、0.23.0、0.27.1、0.32.0);vllm_ascend/envs.py(0.18.0 至 0.26.0rc1);vllm-ascend PR 12117、13838、
13855、14831、14832,issue 10381。
"""


@rule("PD705", "env-removed", "info", zh=ZH, needs="C R")
def env_removed(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """The target release no longer reads a variable.

    ## What it does

    Fires on variables that the target release has dropped or turned into an option, and says what to use instead.

    ## Why it matters

    Setting it does nothing, so what it was meant to switch on may be off.

    ## Example

    ```bash
    # target: 0.28.0rc1
    export VLLM_ASCEND_ENABLE_FUSED_MC2=1
    vllm serve /models/m
    ```

    ## Use instead

    ```bash
    # target: 0.28.0rc1
    vllm serve /models/m --additional-config '{"enable_fused_mc2": 1}'
    ```

    ## Releases

    Depends on the variable; `VLLM_USE_V1`, for example, is read by no release in the tables.

    ## Sources

    vllm/envs.py at 0.18.0, 0.23.0, 0.27.1 and 0.32.0; vllm_ascend/envs.py at 0.18.0 to 0.26.0rc1; vllm-ascend pull
    requests 12117, 13838, 13855, 14831 and 14832, and issue 10381.
    """
    for name, given in node.env.items():
        if not removed(name, deployment.target):
            continue
        instead = INSTEAD.get(name)
        yield Hit(
            place_of(given),
            Msg(f"{deployment.target} does not read {name}", f"{deployment.target} 不读取 {name}"),
            Msg(f"use {instead}", f"改用 {instead}") if instead else Msg("take it out", "把它删掉"),
        )
