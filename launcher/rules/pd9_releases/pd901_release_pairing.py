"""PD901 release-pairing."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.pairing import ASCEND_COMPANIONS, ASCEND_PAIRS
from pd_launch.schemas.core.target import TargetError, release

ZH = """
安装的 vLLM 与 vllm-ascend 不配套

## 作用

按主机信息中的 `vllm` 与 `vllm_ascend`（已安装的版本）核对：每个 vllm-ascend 版本只为一个 vLLM 版本构建。
`cann`、`torch_npu`、`mooncake` 与该版本发布时所用的不同，报告为警告。

## 为什么重要

vllm-ascend 会替换 vLLM 的内部代码，版本不配套时会在导入时或运行中出错。

## 适用版本

表中的所有 vllm-ascend 版本。

## 来源

vllm-ascend 各版本的 Dockerfile（ARG VLLM_TAG）与 .github/vllm-release-tag.commit；版本策略文档。
"""


@rule("PD901", "release-pairing", "error", zh=ZH, needs="H R")
def release_pairing(deployment: Deployment) -> Iterator[Hit]:
    """The installed vLLM is not the one that the installed vllm-ascend is built for.

    ## What it does

    Compares the host facts `vllm` and `vllm_ascend` (what is installed): each vllm-ascend is built for one vLLM.
    Another `cann`, `torch_npu` or `mooncake` than it was released with is a warning.

    ## Why it matters

    vllm-ascend replaces parts inside vLLM, so another release breaks at import or in the middle of serving.

    ## Example

    ```json
    // host facts
    {"vllm_ascend": "0.25.1rc1", "vllm": "0.23.0"}
    ```

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m
    ```

    ## Use instead

    ```json
    // host facts
    {"vllm_ascend": "0.25.1rc1", "vllm": "0.25.1"}
    ```

    ```bash
    # target: 0.25.1rc1
    vllm serve /models/m
    ```

    ## Releases

    Every vllm-ascend in the tables.

    ## Sources

    vllm-ascend's Dockerfile (ARG VLLM_TAG) and .github/vllm-release-tag.commit at each release; its versioning policy.
    """
    ascend, vllm = deployment.fact("vllm_ascend"), deployment.fact("vllm")
    if not isinstance(ascend, str) or not deployment.nodes or not deployment.ascend:
        return
    yield from _companions(deployment, ascend)
    if not isinstance(vllm, str):
        return
    try:
        rows = [row for row in ASCEND_PAIRS if release(row) == release(ascend)]
        wanted = ASCEND_PAIRS[rows[0]] if rows else None
        fits = wanted is None or release(wanted) == release(vllm)
    except TargetError:
        return
    if fits:
        return
    yield Hit(
        deployment.nodes[0].origin,
        Msg(
            f"vllm-ascend {ascend} is built for vLLM {wanted}, but vLLM {vllm} is installed",
            f"vllm-ascend {ascend} 是为 vLLM {wanted} 构建的，安装的却是 vLLM {vllm}",
        ),
        Msg(f"install vLLM {wanted}, or the image of that release", f"安装 vLLM {wanted}，或使用该版本的镜像"),
    )


def _companions(deployment: Deployment, ascend: str) -> Iterator[Hit]:
    """Compare CANN, torch-npu and Mooncake with what this vllm-ascend was released with."""
    try:
        rows = [row for row in ASCEND_COMPANIONS if release(row) == release(ascend)]
    except TargetError:
        return
    for fact, wanted in ASCEND_COMPANIONS[rows[0]].items() if rows else ():
        found = deployment.fact(fact)
        if not isinstance(found, str) or _same(found, wanted):
            continue
        name = {"cann": "CANN", "torch_npu": "torch-npu", "mooncake": "Mooncake"}[fact]
        yield Hit(
            deployment.nodes[0].origin,
            Msg(
                f"vllm-ascend {ascend} was released with {name} {wanted}, but {name} {found} is installed",
                f"vllm-ascend {ascend} 发布时用的是 {name} {wanted}，安装的却是 {name} {found}",
            ),
            Msg(f"install {name} {wanted}, or the image of that release", f"安装 {name} {wanted}，或使用该版本的镜像"),
            "warning",
        )


def _same(found: str, wanted: str) -> bool:
    """Whether two versions are the same but for a local part; what is no version is not judged."""
    try:
        return Version(found).public == Version(wanted).public
    except InvalidVersion:
        return True
