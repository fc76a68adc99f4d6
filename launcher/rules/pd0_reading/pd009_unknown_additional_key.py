"""PD009 unknown-additional-key."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.edits import rename_key, renamed
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.names import nearest
from pd_launch.schemas.core.severity import Severity
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node, knowable
from pd_launch.schemas.engine.additional import GROUP, SWITCH
from pd_launch.schemas.releases.additional_keys import (
    REFUSING_GROUPS,
    group_keys,
    is_strict,
    known_keys,
    releases_with_key,
)

ZH = """
--additional-config 里有目标版本不读取的键

## 作用

把 `--additional-config` 及其中各组的键与目标版本 vllm-ascend 读取的键比较。从 0.27.1rc1 起未知的键是错误，之前是警告。

## 为什么重要

未知的键会被悄悄忽略，想要的功能也就没有打开；检查选项类型的版本则会在启动时拒绝它。

## 适用版本

vllm-ascend 的所有版本；从 <since typed-options> 起为错误。
`eplb_config` 与 `short_request_first_config` 里的未知键在任何版本都会被拒绝。

## 来源

vllm-ascend 0.18.0 到 0.26.0rc1 安装包里对该字典的每次读取，
以及 0.27.1rc1 到 0.30.0rc2 源码包里的类型化选项
（vllm_ascend/ascend_config.py），由 scripts/read_release.py 读取。
"""


@rule("PD009", "unknown-additional-key", "warning", zh=ZH, needs="C R")
def unknown_additional_key(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """A key of --additional-config that the release does not read.

    ## What it does

    Compares the keys of `--additional-config`, and of the groups in it, with those that the target release of
    vllm-ascend reads. From 0.27.1rc1 an unknown key is an error; before, it is a warning.

    ## Why it matters

    An unknown key is silently ignored, so the feature that it names stays off; releases with typed options refuse it at
    start.

    ## Example

    ```bash
    # target: 0.28.0rc1
    vllm serve /models/m --additional-config '{"enable_cpu_bindng": true}'
    ```

    ## Use instead

    ```bash
    # target: 0.28.0rc1
    vllm serve /models/m --additional-config '{"enable_cpu_binding": true}'
    ```

    ## Releases

    All of vllm-ascend; an error from <since typed-options>. Unknown keys of `eplb_config` and
    `short_request_first_config` are refused by every release.

    ## Sources

    Every read of the dict in the wheels of vllm-ascend 0.18.0 to 0.26.0rc1, and the typed options in the source
    packages of 0.27.1rc1 to 0.30.0rc2 (vllm_ascend/ascend_config.py), read by scripts/read_release.py.
    """
    target, tree = deployment.target, node.additional
    if tree is None or not target.is_ascend:
        return
    known = known_keys(target)
    for name, entry in tree.items():
        if not knowable(name) or _is_pd103(name, entry, target):
            continue
        if name not in known:
            yield _hit(name, entry, known, deployment, "error" if is_strict(target) else "warning")
        else:
            yield from _group(name, entry, deployment)


def _is_pd103(name: str, entry: Node, target: Target) -> bool:
    """A group that this release does not know and that holds only the recompute switch: PD103 speaks of it."""
    return name == GROUP and name not in known_keys(target) and {key for key, _ in entry.items()} <= {SWITCH}


def _group(group: str, tree: Node, deployment: Deployment) -> Iterator[Hit]:
    known = group_keys(group, deployment.target)
    refuses = is_strict(deployment.target) or group in REFUSING_GROUPS
    for name, entry in tree.items() if known else ():
        if knowable(name) and known is not None and name not in known:
            yield _hit(name, entry, known, deployment, "error" if refuses else "warning", f"{group}.")
        else:
            yield from _group(name, entry, deployment)


def _hit(name: str, entry: Node, known: list[str], deployment: Deployment, severity: Severity, where: str = "") -> Hit:
    target = deployment.target
    place = entry.key or entry.origin
    refused, refused_zh = (" and refuses it", "，并会拒绝它") if severity == "error" else ("", "")
    message = Msg(f"{target} does not read {where}{name}{refused}", f"{target} 不读取 {where}{name}{refused_zh}")
    near = nearest(name, known)
    releases = [] if where else releases_with_key(name, target)
    if near is not None and not releases:
        right = renamed(rename_key(entry, near), near)
        return Hit(place, message, Msg(f"did you mean {near}?", f"是不是想写 {near}？"), severity, fix=right)
    if releases:
        span, span_zh = f"from {releases[0]} to {releases[-1]}", f"从 {releases[0]} 到 {releases[-1]} "
        return Hit(
            place,
            message,
            Msg(f"remove it; vllm-ascend reads it {span}", f"删掉它；vllm-ascend {span_zh}才读取它"),
            severity,
        )
    return Hit(place, message, Msg("remove it", "删掉它"), severity)
