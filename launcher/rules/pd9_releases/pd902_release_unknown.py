"""PD902 release-unknown."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.sources.release.targets import TARGET_FAMILY
from pd_launch.schemas.core.build import ReadBuild
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target, TargetError, release
from pd_launch.schemas.core.values import Origin

ZH = """
版本表里没有目标版本

## 作用

目标版本比版本表里最新的还新、比最旧的还旧，或者在两行之间时，说明实际按哪个版本的事实检查。目标是路径时，读取它自己的文件，
并说明其余事实取自哪个版本。目标比表里所有版本都旧时，与版本有关的问题最多是警告：在那个版本上可能本来就是对的。

配置文件里与硬件不符的 target 是警告：它不起作用。

加了 `--require-target`（或 pd-launch.toml 中的 `require-target = true`）时，没有写明版本的引擎报告为错误。

## 为什么重要

检查用的是相邻的较旧版本的事实，没有考虑目标版本自己的变化。

## 适用版本

不在表里的版本。

## 来源

schemas/core/pairing.py。
"""


@rule("PD902", "release-unknown", "info", zh=ZH, needs="R")
def release_unknown(deployment: Deployment) -> Iterator[Hit]:
    """The target release is not in the tables.

    ## What it does

    Says which release's facts are used where the target is newer than the newest row, older than the oldest one, or
    between two rows. For a path, whose own files are read, it says where the other facts come from. For a target older
    than all rows, a finding that depends on the release is at most a warning: there it may well be right.

    A profile's target that is not for its hardware is a warning: it is ignored.

    With `--require-target`, or `require-target = true` in pd-launch.toml, an engine whose release is not given anywhere
    is an error.

    ## Why it matters

    The facts are those of the nearest older release, and what the target itself changed may be missing.

    ## Example

    ```bash
    # target: 0.99.0
    vllm serve /models/m
    ```

    ## Use instead

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m
    ```

    ## Releases

    Those that are not in the tables.

    ## Sources

    schemas/core/pairing.py.
    """
    for fault in deployment.faults_of(TARGET_FAMILY):
        yield Hit(fault.origin, fault.detail, fault.help, "warning")
    if deployment.require_target:
        yield from _undecided(deployment)
    target = deployment.target
    origin = _place(deployment)
    if origin is not None and target.build is not None:
        yield from _of_build(target, target.build, origin)
        return
    if target.asked is None or origin is None:
        return
    asked = f"vllm-ascend {target.asked}" if target.is_ascend else f"vLLM {target.asked}"
    try:
        release(target.asked)
    except TargetError:
        return
    side, side_zh = ("oldest", "最旧") if target.is_before_rows else ("nearest older", "相邻的较旧")
    yield Hit(
        origin,
        Msg(
            f"{asked} is not in the tables: checked as {target}, the {side} release that is",
            f"版本表里没有 {asked}：按表中{side_zh}的版本 {target} 检查",
        ),
        Msg("use --target to choose another release from the tables", "用 --target 指定版本表里的其他版本"),
    )


def _of_build(target: Target, build: ReadBuild, origin: Origin) -> Iterator[Hit]:
    """Say which row counts where a build's own files say nothing, unless it is a row itself."""
    part = build.ascend or build.vllm
    if part is None or not (part.is_guess or target.asked):
        return
    row = f"vllm-ascend {part.row}" if target.is_ascend else f"vLLM {part.row}"
    why, why_zh = "the nearest older release", "相邻的较旧版本"
    if part.is_guess:
        why, why_zh = (
            "the release it resembles most: its version number does not help",
            "与它最相似的版本，因为版本号说明不了",
        )
    yield Hit(
        origin,
        Msg(
            f"{target} is not in the tables: what its files do not say comes from {row}, {why}",
            f"版本表里没有 {target}：文件里没有写的事实取自 {row}（{why_zh}）",
        ),
        Msg("no change needed", "无需修改"),
    )


def _undecided(deployment: Deployment) -> Iterator[Hit]:
    """Report the engines whose release nothing decides; a profile has one for all of its engines."""
    whole = deployment.choice
    for node in deployment.nodes:
        choice = node.choice or whole
        if choice is None or choice.decided is not None:
            continue
        image = node.container.image if node.container is not None else None
        yield Hit(
            image.origin if image is not None else node.origin,
            Msg("nothing says which release this engine runs", "没有写明这个引擎用的是哪个版本"),
            Msg(
                "write # pd-launch: target vllm-ascend==X above it, or target in pd-launch.toml, or give --target",
                "在它上方写 # pd-launch: target vllm-ascend==X，或写进 pd-launch.toml，或用 --target 指定",
            ),
            "error",
        )
        if deployment.renderer is not None:
            return


def _place(deployment: Deployment) -> Origin | None:
    if deployment.nodes:
        container = deployment.nodes[0].container
        if deployment.target.decided_by == "image" and container is not None and container.image is not None:
            return container.image.origin
        return deployment.nodes[0].origin
    return None
