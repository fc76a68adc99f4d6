"""PD002 json-duplicate-key."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.compare import same
from pd_launch.schemas.core.launch import JSON_ARGS, Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node

ZH = """
一个 JSON 对象里同一个键出现了两次

## 作用

检查每个 JSON 参数的同一个对象里有没有重复的键。

## 为什么重要

只有最后一个生效，前面的值会被悄悄丢弃。

## 适用版本

所有版本。

## 来源

Python 的 `json` 对相同的键保留最后一个；在 vLLM 0.23.0、0.27.1 和 0.32.0 上运行验证过。
"""


@rule("PD002", "json-duplicate-key", "warning", zh=ZH)
def json_duplicate_key(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """A key appears twice in one JSON object.

    ## What it does

    Looks into every JSON argument for an object in which the same key appears more than once.

    ## Why it matters

    The last one wins silently, and the earlier value is lost.

    ## Example

    ```bash
    vllm serve /models/m --additional-config '{"enable_cpu_binding": false, "enable_cpu_binding": true}'
    ```

    ## Use instead

    ```bash
    vllm serve /models/m --additional-config '{"enable_cpu_binding": true}'
    ```

    ## Releases

    All.

    ## Sources

    Python's `json` keeps the last of equal keys; run on vLLM 0.23.0, 0.27.1 and 0.32.0.
    """
    if node.form == "profile":  # a key that occurs twice in YAML is PD011's
        return
    for arg in node.args:
        if arg.name in JSON_ARGS and arg.value is not None:
            for mapping in arg.value.walk():
                for name, entry in mapping.items():
                    if entry.shadowed:
                        yield _hit(name, entry)


def _hit(name: str, entry: Node) -> Hit:
    first = entry.shadowed[0]
    alike = all(same(earlier, entry) for earlier in entry.shadowed)
    lost, lost_zh = ("", "") if alike else (": the earlier value is lost", "：前面的值会丢失")
    return Hit(
        entry.key or entry.origin,
        Msg(f"the key {name} appears twice in this object{lost}", f"键 {name} 在这个对象里出现了两次{lost_zh}"),
        Msg("keep one of them; this last one takes effect", "只保留一个；生效的是最后这个"),
        related=((first.key or first.origin, Msg("it is first given here", "第一次出现在这里")),),
    )
