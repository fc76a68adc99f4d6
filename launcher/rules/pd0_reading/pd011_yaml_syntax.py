"""PD011 yaml-syntax."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.msg import Msg

ZH = """
YAML 无法解析，或者一个键出现了两次

## 作用

报告 YAML 文件里解析器不接受的地方，以及同一个映射里出现两次的键。

## 为什么重要

文件无法解析，就什么也启动不了；重复的键只有最后一个生效，前面的值会被悄悄丢弃。

## 适用版本

所有版本。

## 来源

YAML 1.1 与 1.2：一个映射里的键必须唯一。
"""


@rule("PD011", "yaml-syntax", "error", zh=ZH)
def yaml_syntax(deployment: Deployment) -> Iterator[Hit]:
    """The YAML does not parse, or a key appears twice.

    ## What it does

    Reports the place where a YAML file cannot be parsed, and each key that appears twice in one mapping.

    ## Why it matters

    A file that does not parse starts nothing, and of a key given twice only the last takes effect: the first is lost
    silently.

    ## Example

    ```yaml
    version: 1
    hardware: a3
    model: /models/m
    decode:
      port: 8200
      port: 8300
    ```

    ## Use instead

    ```yaml
    version: 1
    hardware: a3
    model: /models/m
    decode:
      port: 8300
    ```

    ## Releases

    All.

    ## Sources

    YAML 1.1 and 1.2: the keys of a mapping are unique.
    """
    for fault in deployment.faults_of("yaml"):
        help_ = fault.help or _CORRECT
        yield Hit(fault.origin, fault.detail, help_)


_CORRECT = Msg(
    "correct the YAML here; indentation, a missing ':' and unclosed quotes or brackets are the usual causes",
    "改正这里的 YAML；常见原因是缩进不对、缺少冒号、引号或括号没有闭合",
)
