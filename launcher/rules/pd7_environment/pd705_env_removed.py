"""PD705 env-removed."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.rules.variables import place_of
from pd_launch.schemas.core.launch import Deployment, EnvVar, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.releases.connector_options import MORIIO_VARIABLES, MORIIO_VARIABLES_IGNORED
from pd_launch.schemas.releases.environment import INSTEAD, removed

ZH = """
目标版本不再读取这个环境变量

## 作用

报告目标版本已经删除或改成配置项的变量，并给出替代写法。

## 为什么重要

设置它没有任何效果，想要的功能可能因此没有打开。

## 适用版本

见各变量：例如 `VLLM_USE_V1` 在表中任何版本都不再读取；MoRIIOConnector 从 vLLM <since moriio-ignores-variables> 起
忽略 `VLLM_MORIIO_CONNECTOR_READ_MODE` 等变量（其中会改变传输方式的报告为警告）。

## 来源

vllm/envs.py（0.18.0、0.23.0、0.27.1、0.32.0）；vllm_ascend/envs.py（0.18.0 至 0.26.0rc1）；vllm-ascend PR 12117、
13838、13855、14831、14832，issue 10381。
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

    Depends on the variable; `VLLM_USE_V1`, for example, is read by no release in the tables. From vLLM <since
    moriio-ignores-variables> on MoRIIOConnector ignores `VLLM_MORIIO_CONNECTOR_READ_MODE` and similar variables; the
    one that would change how KV is moved is a warning.

    ## Sources

    vllm/envs.py at 0.18.0, 0.23.0, 0.27.1 and 0.32.0; vllm_ascend/envs.py at 0.18.0 to 0.26.0rc1; vllm-ascend pull
    requests 12117, 13838, 13855, 14831 and 14832, and issue 10381.
    """
    moriio = next((c for c in connectors(node.kv_transfer) if c.name == "MoRIIOConnector"), None)
    for name, given in node.env.items():
        option = MORIIO_VARIABLES.get(name)
        if option and moriio is not None and MORIIO_VARIABLES_IGNORED.holds(deployment.target):
            yield from _of_moriio(name, option, given, moriio)
            continue
        if not removed(name, deployment.target):
            continue
        instead = INSTEAD.get(name)
        yield Hit(
            place_of(given),
            Msg(f"{deployment.target} does not read {name}", f"{deployment.target} 不读取 {name}"),
            Msg(f"use {instead}", f"改用 {instead}") if instead else Msg("take it out", "把它删掉"),
        )


def _of_moriio(name: str, option: str, given: EnvVar, connector: Connector) -> Iterator[Hit]:
    """Yield a variable that MoRIIOConnector no longer reads; where the mode follows from it, as a warning."""
    if connector.option(option) is not None:
        return  # what is read is written too
    changes_mode = option == "read_mode" and given.value.value not in ("", "0", 0, None)
    zh = "READ/WRITE 模式不会因此改变" if changes_mode else "设置不生效"
    en = "so the mode stays WRITE" if changes_mode else "so it does nothing"
    yield Hit(
        place_of(given),
        Msg(f"MoRIIOConnector ignores {name}, {en}", f"MoRIIOConnector 忽略 {name}：{zh}"),
        Msg(f'write "{option}" in kv_connector_extra_config', f'在 kv_connector_extra_config 里写 "{option}"'),
        severity="warning" if changes_mode else "info",
    )
