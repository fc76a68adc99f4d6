"""PD707 placeholder-value."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.placeholders import placeholders
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node

_REFERENCE = lazy_pattern(r"\$(?:[A-Za-z_]\w{0,99}|\{[A-Za-z_]\w{0,99}\})")
ZH = """
占位符还没有换成实际的值

## 作用

报告还是占位符的参数、环境变量、JSON 值和挂载：`your_ip_here`、`xxxx`、`192.168.x.x`、`/path/to/…`、`<model>` 等。
其他规则不再检查这样的值。还会报告配置文件中像是在引用其他变量的值（`${HOME}/x`、`$USER`）：那里的 `$` 只是普通字符。

## 为什么重要

引擎会把占位符当成实际的地址或路径使用，启动后才失败。

## 适用版本

所有版本。

## 来源

上游指南与教程中的示例写法。
"""


@rule("PD707", "placeholder-value", "warning", zh=ZH, confidence="medium", needs="C")
def placeholder_value(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """A placeholder has not been filled in.

    ## What it does

    Fires on arguments, variables, JSON values and mounts that are still placeholders: `your_ip_here`, `xxxx`,
    `192.168.x.x`, `/path/to/…`, `<model>` and similar. No other rule reports such a value. Fires as well on values of a
    profile that look as if they referred to another variable (`${HOME}/x`, `$USER`): there, `$` is an ordinary
    character.

    ## Why it matters

    The engine uses the placeholder as a real address or path, and fails only after it has started.

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
            Msg(f"{what} is still a placeholder: {shown!r}", f"{what} 还是占位符：{shown!r}"),
            Msg("write the real value", "换成实际的值"),
        )
    for what, leaf, name in _references(node):
        yield Hit(
            leaf.origin,
            Msg(
                f"{what} gets the literal text {name}: profiles do not expand variables",
                f"{what} 会原样得到 {name}：配置文件不展开变量",
            ),
            _instead(what, name),
        )


def _references(node: NodeLaunch) -> Iterator[tuple[str, Node, str]]:
    """Iterate over the values of a profile that look as if a shell read them: what each is for, and what it names."""
    if node.form != "profile":
        return
    values = [(name, variable.value) for name, variable in node.env.items()]
    if node.model is not None:
        values.append(("the model", node.model))
    if node.container is not None:
        values += [("a mount", mount) for mount in node.container.mounts]
        values += [("the image", node.container.image)] if node.container.image is not None else []
    for what, value in values:
        found = _REFERENCE.search(value.value) if isinstance(value.value, str) else None
        if found is not None:
            yield what, value, found[0]


def _instead(what: str, name: str) -> Msg:
    if name.strip("${}") == what:
        return Msg(
            (f"to keep the value that {what} already has, write {{prepend: TEXT}} or {{append: TEXT}} without {name}"),
            f"要保留 {what} 原有的值，请写 {{prepend: …}} 或 {{append: …}}，不要写 {name}",
        )
    return Msg("write the value itself", "请直接写出它的值")
