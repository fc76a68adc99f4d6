"""PD701 env-unknown."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.container_facts import DAVINCI
from pd_launch.launcher.rules.edits import rename_key, renamed
from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.rules.variables import nearest_name, place_of
from pd_launch.schemas.core.launch import Deployment, EnvVar, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.releases.environment import known_names, own_files_name

MISTAKEN = {
    "ASCEND_VISIBLE_DEVICES": "ASCEND_RT_VISIBLE_DEVICES",
    "NPU_VISIBLE_DEVICES": "ASCEND_RT_VISIBLE_DEVICES",
    "ASCEND_DEVICES": "ASCEND_RT_VISIBLE_DEVICES",
    "PYTORCH_NPU_CONF": "PYTORCH_NPU_ALLOC_CONF",
    "PYTORCH_NPU_ALLOC_CONFIG": "PYTORCH_NPU_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONFIG": "PYTORCH_CUDA_ALLOC_CONF",
    "MOONCAKE_CONFIG_FILE": "MOONCAKE_CONFIG_PATH",
    "MOONCAKE_CONFIG": "MOONCAKE_CONFIG_PATH",
    "MMC_CONFIG_PATH": "MMC_LOCAL_CONFIG_PATH",
    "LMCACHE_CONFIG_PATH": "LMCACHE_CONFIG_FILE",
    "HCCL_IFNAME": "HCCL_SOCKET_IFNAME",
    "GLOO_IFNAME": "GLOO_SOCKET_IFNAME",
    "HCCL_IP": "HCCL_IF_IP",
    "HCCL_BUFFER_SIZE": "HCCL_BUFFSIZE",
}
"""Names that people write for another one. The first is right for a container runtime."""
_RUNTIME = ("docker", "compose", "manifest", "yaml")

ZH = """
环境变量的名字像是写错了

## 作用

报告没有任何程序读取、但与某个已知变量很相近的变量名，以及常被误用的名字：`ASCEND_VISIBLE_DEVICES` 只对
`docker run -e`（配合 Ascend 容器运行时）有意义；作为 shell 变量，或者在逐个传入设备的容器里，并不能为引擎选择设备。
不认识、也不相近的名字不报告。

## 为什么重要

名字写错的变量会被悄悄忽略，想要的设置根本不生效。

## 适用版本

所有版本。

## 来源

各版本的 vllm/envs.py 与 vllm_ascend/envs.py；CANN、torch_npu、Mooncake、LMCache、NCCL 的手册；vllm-ascend PR 7271、
7934、5581。
"""


@rule("PD701", "env-unknown", "warning", zh=ZH, confidence="medium", needs="C R")
def env_unknown(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """The name of an environment variable looks misspelt.

    ## What it does

    Fires on a name that nothing reads and that is only a slip away from a known one, and on names often mistaken for
    another: `ASCEND_VISIBLE_DEVICES` means something to `docker run -e` with the Ascend container runtime, but as a
    shell variable, or in a container that is given its devices one by one, it selects no device for the engine. Unknown
    names that resemble nothing known are not reported.

    ## Why it matters

    A misspelt variable is silently ignored, so the setting that was meant never takes effect.

    ## Example

    ```bash
    # target: 0.25.1rc1
    export VLLM_ASCEND_ENABLE_FUSD_MC2=1
    vllm serve /models/m
    ```

    ## Use instead

    ```bash
    # target: 0.25.1rc1
    export VLLM_ASCEND_ENABLE_FUSED_MC2=1
    vllm serve /models/m
    ```

    ## Releases

    All.

    ## Sources

    vllm/envs.py and vllm_ascend/envs.py of the releases in the tables; the manuals of CANN, torch_npu, Mooncake,
    LMCache and NCCL; vllm-ascend pull requests 7271, 7934 and 5581.
    """
    for name, variable in node.env.items():
        meant = MISTAKEN.get(name)
        if name == "ASCEND_VISIBLE_DEVICES" and (_for_runtime(variable, node) or not deployment.target.is_ascend):
            continue
        if meant is None and name not in known_names() and not own_files_name(name, deployment.target):
            meant = nearest_name(name, known_names())
        if meant is None or meant == name:
            continue
        place = place_of(variable)
        yield Hit(
            place,
            Msg(f"nothing in the engine reads {name}", f"引擎不会读取 {name}"),
            Msg(f"write {meant}, if that is what you meant", f"如果想写的是 {meant}，请改正"),
            fix=renamed(rename_key(variable.value, meant), meant),
        )


def _for_runtime(variable: EnvVar, node: NodeLaunch) -> bool:
    """Whether a container runtime may read a variable: not where the container is given each device by itself."""
    container = node.container
    if variable.how not in _RUNTIME or container is None or container.runtime or container.form == "manifest":
        return variable.how in _RUNTIME
    return not any(isinstance(d.value, str) and DAVINCI.match(d.value) for d in container.devices)
