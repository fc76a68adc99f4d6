"""PD012 profile-field."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import renamed
from pd_launch.launcher.rules.registry import FixEdits, Hit, rule
from pd_launch.schemas.core.launch import Deployment, Fault

ZH = """
配置文件的键未知、缺失或类型不对

## 作用

报告 pd-launch 配置文件里未知的键（并给出最接近的名字）、缺少的必填键、类型或取值不对的值、含有换行或其他控制字符的名称
（以及 docker 不接受的容器名）、在 `engine` 里写了应由其他键推导出的参数，以及渲染时会原样写出的机密值
（`patch`、`container`、名称和地址里的）。

## 为什么重要

这样的配置文件不会渲染成任何一侧的启动命令，其余检查也就无从进行。

## 适用版本

所有版本。

## 来源

pd-launch 的配置文件格式，版本 1。
"""


@rule("PD012", "profile-field", "error", zh=ZH)
def profile_field(deployment: Deployment) -> Iterator[Hit]:
    """An unknown, missing or wrongly typed key of a profile.

    ## What it does

    Reports keys that a profile does not have (and suggests the closest valid one), required keys that are missing,
    values of the wrong type or out of range, names with line breaks or control characters (or, for a container, that
    docker does not accept), flags under `engine` that follow from another key, and secrets in values that are copied
    into rendered files: `patch`, `container`, names and addresses.

    ## Why it matters

    A profile that is not valid is not rendered, so nothing else in it can be checked.

    ## Example

    ```yaml
    version: 1
    hardware: a3
    model: /models/m
    decode:
      paralel: {tensor: 8}
    ```

    ## Use instead

    ```yaml
    version: 1
    hardware: a3
    model: /models/m
    decode:
      parallel: {tensor: 8}
    ```

    ## Releases

    All.

    ## Sources

    The profile format of pd-launch, version 1.
    """
    for fault in deployment.faults_of("profile"):
        message, help = fault.detail, fault.help
        yield Hit(fault.origin, message, help, fix=_fix(fault))


def _fix(fault: Fault) -> FixEdits | None:
    return renamed(fault.fix, fault.fix[0].text, fault.fix_is_safe) if fault.fix else None
