"""PD707 placeholder-value."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, Msg, rule
from pd_launch.schemas.launch import Deployment, NodeLaunch
from pd_launch.schemas.values import HOLE, Node

_PLACEHOLDER = re.compile(
    r"""
    \byour[-_ ]?(?:own[-_ ])?(?:[a-z]+[-_ ])*
        (?:ip|addr(?:ess)?|host(?:name)?|nic|interface|port|path|model|token|key|name)(?:[-_ ]here)?\b
    | \b(?:put|insert|replace|change|fill)[-_ ](?:me|this|your|with|in)\b
    | (?<![\w/])(?:local|node\d?|host|prefill|decode|master|remote|nic|card)[-_ ](?:ip|name|addr(?:ess)?)[-_ ]here\b
    | (?<![a-z0-9])x{3,}(?![a-z0-9])
    | (?<![\w.])(?:\d{1,3}\.){1,3}x{1,3}(?:\.(?:x{1,3}|\d{1,3})){0,2}(?![\w.])
    | (?<![\w.])x{1,3}(?:\.x{1,3}){3}(?![\w.])
    | ^/?(?:path|dir)[-_/]to[-_/]
    | (?<=[=:,])/path/to/
    | ^<[a-z][\w .-]*>$
    | ^\[?(?:todo|tbd|fixme|changeme|placeholder)\]?$
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NOT_LOOKED_AT = frozenset({"chat-template", "served-model-name", "override-generation-config"})
_MAX = 4096

ZH = """
占位符还没有换成真实的值

## 作用

报告仍是占位符的参数、环境变量、JSON 值和挂载:`your_ip_here`、`xxxx`、`192.168.x.x`、`/path/to/…`、`<model>` 等。

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
    `192.168.x.x`, `/path/to/…`, `<model>` and their like.

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
    for what, value in _values(node):
        for leaf in value.walk():
            text = leaf.value
            if not isinstance(text, str) or len(text) > _MAX or HOLE in text:
                continue
            match = _PLACEHOLDER.search(text)
            if match:
                shown = text if len(text) <= 60 else f"{text[:60]}…"
                yield Hit(
                    leaf.origin,
                    Msg(f"{what} is still a placeholder: {shown!r}", f"{what} 还是占位符:{shown!r}"),
                    Msg("write the real value", "换成真实的值"),
                )


def _values(node: NodeLaunch) -> Iterator[tuple[str, Node]]:
    if node.model is not None:
        yield "the model", node.model
    for arg in node.args:
        if arg.name and arg.name not in _NOT_LOOKED_AT and arg.value is not None and arg.value is not node.model:
            for value in (arg.value, *arg.more):
                yield f"--{arg.name}", value
    for name, variable in node.env.items():
        yield name, variable.value
    container = node.container
    if container is not None:
        yield from (("a mount", mount) for mount in container.mounts)
        if container.image is not None:
            yield "the image", container.image
