"""PD904 target-not-installed."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target, TargetError, release

ZH = """
检查所用的目标版本不是本机安装的版本

## 作用

`--target`、配置文件、文件中的注释、pd-launch.toml 或镜像写明了版本，
而主机上安装的 vLLM 或 vllm-ascend 是另一个版本时报告：在真正启动时，以及给出 `--host` 或 `--host-facts` 时检查。
引擎在容器里运行时，不受主机上安装的版本影响，不报告。

## 为什么重要

检查和生成都按写明的版本进行，运行的却是另一个版本：参数和默认值可能不同。

## 适用版本

所有版本。`.postN`、`.devN` 与本地版本号属于各自的版本。

## 来源

主机信息 `vllm` 与 `vllm_ascend`：已安装软件包的元数据。
"""
_SAID = ("--target", "path", "profile", "comment", "plan", "config", "image", "requirement")
"""Who decides with a word of the user's, and not because nothing else did."""


@rule("PD904", "target-not-installed", "warning", zh=ZH, needs="H R")
def target_not_installed(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """The target release is not the one installed on this host.

    ## What it does

    Where `--target`, the profile, a comment, the configuration file or an image decides the release, and the host has
    another vLLM or vllm-ascend installed: in a real launch, and with `--host` or `--host-facts`. An engine that runs in
    its own container does not use what the host has, and is skipped.

    ## Why it matters

    Everything is checked and rendered for the target release, but a different one runs: flags and defaults may differ.

    ## Example

    ```json
    // host facts
    {"vllm": "0.31.0"}
    ```

    ```bash
    # target: vllm==0.32.0
    vllm serve /models/m
    ```

    ## Use instead

    ```json
    // host facts
    {"vllm": "0.32.0"}
    ```

    ```bash
    # target: vllm==0.32.0
    vllm serve /models/m
    ```

    ## Releases

    All. `.postN`, `.devN` and local versions belong to their release.

    ## Sources

    The host facts `vllm` and `vllm_ascend`: the metadata of installed packages.
    """
    target = deployment.target
    if target.decided_by not in _SAID or (node.container is not None and node.form != "profile"):
        return
    wanted, installed = _wanted(target), _installed(deployment)
    if wanted is None or installed is None:
        return
    family, version = installed
    try:
        if family == _family(target) and release(version) == release(wanted):
            return
    except TargetError:
        return
    word = f"{family.lower()}=={version}"
    yield Hit(
        node.origin,
        Msg(
            f"this is for {_family(target)} {wanted}, but {family} {version} is installed",
            f"这里写的是 {_family(target)} {wanted}，安装的却是 {family} {version}",
        ),
        Msg(
            f"name the release that runs ({word}), or install the one named here",
            f"写明实际运行的版本：{word}；或者安装所写的版本",
        ),
    )


def _family(target: Target) -> str:
    return "vllm-ascend" if target.is_ascend else "vLLM"


def _wanted(target: Target) -> str | None:
    """Return the version that is checked for; None where a build does not say."""
    if target.build is not None:
        part = target.build.ascend if target.is_ascend else target.build.vllm
        return None if part is None or part.is_guess else part.version
    return target.asked or target.vllm_ascend or target.vllm


def _installed(deployment: Deployment) -> tuple[str, str] | None:
    """Return what the host has, as far as it is known: vllm-ascend with its vLLM is vllm-ascend.

    That there is no vllm-ascend for a target that is one is not known: facts leave out what they do not know.
    """
    for family, fact in (("vllm-ascend", "vllm_ascend"), ("vLLM", "vllm")):
        version = deployment.fact(fact)
        if isinstance(version, str):
            return None if family == "vLLM" and deployment.target.is_ascend else (family, version)
    return None
