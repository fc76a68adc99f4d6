"""PD707 placeholder-value."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.placeholders import placeholders
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg

ZH = """
占位符还没有换成真实的值

## 作用

报告仍是占位符的参数、环境变量、JSON 值和挂载:`your_ip_here`、`xxxx`、`192.168.x.x`、`/path/to/…`、`<model>` 等。
其他规则不再评论这样的值。

## 为什么重要

引擎会拿着占位符去连接或打开文件,启动后才失败。

## 适用版本

所有版本。

## 来源

官方指南与教程中的示例写法。
"""


@rule("PD707", "placeholder-value", "warning", zh=ZH, confidence="medium", needs="C")
def placeholder_value(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """A placeholder is still in place.

    ## What it does

    Fires on arguments, variables, JSON values and mounts that are still placeholders: `your_ip_here`, `xxxx`,
    `192.168.x.x`, `/path/to/…`, `<model>` and their like. No other rule speaks of such a value.

    ## Why it matters

    The engine takes the placeholder for a real address or path, and fails only after it was started.

    ## Example

    ```bash
    export HCCL_IF_IP=your_ip_here
    vllm serve /models/m
    ```

    ## Use instead

    ```bash
    export HCCL_IF_IP=192.0.2.11
    vllm serve /models/m
    ```

    ## Releases

    All.

    ## Sources

    The way the guides and tutorials write their examples.
    """
    for what, leaf in placeholders(node):
        text = str(leaf.value)
        shown = text if len(text) <= 60 else f"{text[:60]}…"
        yield Hit(
            leaf.origin,
            Msg(f"{what} is still a placeholder: {shown!r}", f"{what} 还是占位符:{shown!r}"),
            Msg("write the real value", "换成真实的值"),
        )
