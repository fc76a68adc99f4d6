"""PD703 env-missing."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.launcher.rules.variables import is_set, place_of
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.core.words import agreeing, listed
from pd_launch.schemas.engine.connector_ports import NIXL_HOST
from pd_launch.schemas.engine.kv_transfer import SIZED_CONNECTORS, Connector, connectors
from pd_launch.schemas.engine.sides import is_unreachable, named_side, spans_machines
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.connector_options import DIM_FIRST

STATE_LAYOUT = "VLLM_SSM_CONV_STATE_LAYOUT"
POOLS = ("AscendStoreConnector", "MooncakeConnectorStoreV1")
BACKENDS = {"mooncake": "MOONCAKE_CONFIG_PATH", "memcache": "MMC_LOCAL_CONFIG_PATH", "yuanrong": "DS_WORKER_ADDR"}
"""Backend of a KV pool → the variable without which it cannot start."""
_LIBRARY_FOLDERS = ("/usr/local/lib", "/usr/lib", "/lib", "/usr/local/lib64")

ZH = """
缺少这种布局需要的环境变量

## 作用

在以下情况下报告：数据并行或单个引擎（`--nnodes`）跨机器，却没有设置 `GLOO_SOCKET_IFNAME`，
或者 `HCCL_IF_IP` 与 `HCCL_SOCKET_IFNAME` 都没有设置；
NixlConnector 跨机器，或者它的生产者（也包括从名称看是预填充的 `kv_both` 引擎）在单独的 Pod 里，却没有设置
`VLLM_NIXL_SIDE_CHANNEL_HOST`（使用 Ray 的引擎和 Dynamo 的 worker 除外）；KV 池后端缺少自己的配置变量；
`LD_LIBRARY_PATH` 被整个替换，不再包含 Mooncake 的库目录；NixlConnector（从 <since nixl-wants-dim-first> 起）或
MoRIIOConnector（从 <since moriio-wants-dim-first> 起）用于含 Mamba 或线性注意力层的模型，却没有设置
`VLLM_SSM_CONV_STATE_LAYOUT`（引擎启动时停止）。如果脚本还会引入别的环境变量文件，则不报告。

## 为什么重要

缺少它们，引擎会选错网卡、只在本机监听，或者在启动时找不到后端的配置和动态库。

## 适用版本

所有版本。

## 来源

vllm/envs.py；vllm_ascend 的 ascend_store/backend（mooncake、memcache、yuanrong）；vLLM issue 27083，
vllm-ascend issue 6949；NIXL 的 base_worker.py（0.20.0 至 0.33.0）。
"""


@rule("PD703", "env-missing", "warning", zh=ZH, confidence="medium", needs="C R")
def env_missing(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""Environment variables that this layout needs are missing.

    ## What it does

    Fires where data parallelism spans machines without `GLOO_SOCKET_IFNAME`, or with neither `HCCL_IF_IP` nor
    `HCCL_SOCKET_IFNAME`, also where one engine spans them (`--nnodes`); where NixlConnector works across machines, or
    its producer (or a `kv_both` engine that is named as prefill) has its own pod, without
    `VLLM_NIXL_SIDE_CHANNEL_HOST`, except with Ray and in Dynamo's workers; where a KV pool's backend lacks its own
    variable; where `LD_LIBRARY_PATH` is overwritten and no longer includes Mooncake's libraries; and where
    NixlConnector (from <since nixl-wants-dim-first>) or MoRIIOConnector (from <since moriio-wants-dim-first>) serves a
    model with Mamba or linear-attention layers without `VLLM_SSM_CONV_STATE_LAYOUT`: the engine stops at start. A
    script that reads more variables from another file is not reported.

    ## Why it matters

    Without them the engine picks the wrong network interface, listens on this machine only, or does not find its
    backend's configuration or libraries at start.

    ## Example

    ```bash
    # target: vllm==0.32.0
    export GLOO_SOCKET_IFNAME=eth0
    vllm serve /models/m --data-parallel-size 8 --data-parallel-size-local 4 --data-parallel-address 192.0.2.11 \
      --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
    ```

    ## Use instead

    ```bash
    # target: vllm==0.32.0
    export GLOO_SOCKET_IFNAME=eth0
    export VLLM_NIXL_SIDE_CHANNEL_HOST=192.0.2.11
    vllm serve /models/m --data-parallel-size 8 --data-parallel-size-local 4 --data-parallel-address 192.0.2.11 \
      --kv-transfer-config '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
    ```

    ## Releases

    All.

    ## Sources

    vllm/envs.py; vllm_ascend's ascend_store/backend (mooncake, memcache, yuanrong); vLLM issue 27083, vllm-ascend
    issue 6949; the workers of vLLM's nixl at 0.20.0 to 0.33.0 and moriio_connector.py at 0.31.0 to 0.33.0.
    """
    yield from _library_path(node, deployment)
    if node.env_open is not None:
        return
    yield from _network(node, deployment)
    for connector in connectors(node.kv_transfer):
        yield from _side_channel(node, deployment, connector)
        yield from _backend(node, deployment, connector)
        yield from _state_layout(node, deployment, connector)


def _network(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    # The runner of test descriptions sets these variables itself, on each node.
    if not deployment.target.is_ascend or node.form == "e2e" or not _across_machines(node, deployment):
        return
    missing = [] if is_set(node, "GLOO_SOCKET_IFNAME") else ["GLOO_SOCKET_IFNAME"]
    if not is_set(node, "HCCL_IF_IP") and not is_set(node, "HCCL_SOCKET_IFNAME"):
        missing += ["HCCL_IF_IP", "HCCL_SOCKET_IFNAME"]
    if missing:
        names, are = listed(missing), agreeing(len(missing), "is", "are")
        one = node.machines != 1 and node.data == 1
        what = Msg("the engine", "引擎") if one else Msg("data parallelism", "数据并行")
        yield Hit(
            _dp_place(node),
            Msg(f"{what.en} spans machines, but {names.en} {are} not set", f"{what.zh}跨机器，但没有设置 {names.zh}"),
            Msg(
                "export HCCL_IF_IP (this node's address), and GLOO_SOCKET_IFNAME, TP_SOCKET_IFNAME and "
                "HCCL_SOCKET_IFNAME (the name of its network interface)",
                "导出 HCCL_IF_IP（本节点地址），"
                "以及 GLOO_SOCKET_IFNAME、TP_SOCKET_IFNAME、HCCL_SOCKET_IFNAME（网卡名）",
            ),
        )


def _side_channel(node: NodeLaunch, deployment: Deployment, connector: Connector) -> Iterator[Hit]:
    if connector.name != "NixlConnector" or is_set(node, NIXL_HOST) or _uses_ray(node):
        return
    if _across_machines(node, deployment) or _own_pod(node):
        place = connector.tree.get("kv_connector")
        yield Hit(
            place.origin if place else connector.tree.origin,
            Msg(
                f"{NIXL_HOST} is not set, so other machines are told to fetch this node's KV from localhost",
                f"没有设置 {NIXL_HOST}，其他机器会到 localhost 去取本节点的 KV",
            ),
            Msg(f"export {NIXL_HOST}, set to this node's address", f"导出 {NIXL_HOST}，值为本节点的地址"),
        )


def _backend(node: NodeLaunch, deployment: Deployment, connector: Connector) -> Iterator[Hit]:
    if connector.name not in POOLS or not deployment.target.is_ascend:
        return
    written = connector.option("backend")
    backend = "mooncake" if written is None else written.string()
    variable = BACKENDS.get(backend.lower()) if backend else None
    if variable is None or is_set(node, variable):
        return
    if written is None and connector.extra is not None and not connector.extra.known:
        return
    place = written or connector.tree.get("kv_connector") or connector.tree
    what = "the address of its worker" if variable == "DS_WORKER_ADDR" else "the path of its configuration file"
    what_zh = "worker 地址" if variable == "DS_WORKER_ADDR" else "配置文件路径"
    yield Hit(
        place.origin,
        Msg(f"the backend {backend} needs {variable}, which is not set", f"后端 {backend} 需要 {variable}，但没有设置"),
        Msg(f"export {variable}, set to {what}", f"导出 {variable}，值为{what_zh}"),
    )


def _state_layout(node: NodeLaunch, deployment: Deployment, connector: Connector) -> Iterator[Hit]:
    """The order of convolution states; on CPU the engine sets it itself."""
    fact = DIM_FIRST.get(connector.name or "")
    if fact is None or deployment.target.is_ascend or not fact.holds(deployment.target) or is_set(node, STATE_LAYOUT):
        return
    model, place = model_of(node), connector.tree.get("kv_connector")
    own = connector.tree.get("kv_connector_module_path") is not None
    if model is None or not model.hybrid or own or any(name.startswith("VLLM_CPU_") for name in node.env):
        return
    yield Hit(
        place.origin if place else connector.tree.origin,
        Msg(
            f"{connector.name} stops at start with a model that has Mamba or linear-attention layers unless "
            f"{STATE_LAYOUT} is DS, and it is not set",
            f"模型含有 Mamba 或线性注意力层时，{connector.name} 要求 {STATE_LAYOUT} 为 DS，"
            "否则启动时停止；这里没有设置",
        ),
        Msg(f"export {STATE_LAYOUT}=DS on both sides", f"在两侧都导出 {STATE_LAYOUT}=DS"),
    )


def _library_path(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    found = node.env.get("LD_LIBRARY_PATH")
    path = found.value.string() if found else None
    if found is None or path is None or not deployment.target.is_ascend:
        return
    if not any(c.name in SIZED_CONNECTORS | set(POOLS) for c in connectors(node.kv_transfer)):
        return
    folders = [folder.rstrip("/") for folder in path.split(":")]
    if "mooncake" in path.lower() or "$" in path or any(folder in _LIBRARY_FOLDERS for folder in folders):
        return
    yield Hit(
        place_of(found),
        Msg(
            "LD_LIBRARY_PATH is overwritten and no longer includes Mooncake's libraries",
            "LD_LIBRARY_PATH 被整个替换，不再包含 Mooncake 的库目录",
        ),
        Msg(
            "add the folder where Mooncake is installed and keep the rest: "
            "export LD_LIBRARY_PATH=/usr/local/lib:$LD_LIBRARY_PATH",
            "加上 Mooncake 的安装目录并保留原值：export LD_LIBRARY_PATH=/usr/local/lib:$LD_LIBRARY_PATH",
        ),
    )


def _across_machines(node: NodeLaunch, deployment: Deployment) -> bool:
    address = node.value("data-parallel-address")
    written = address.string() if address else None
    if written is not None and is_unreachable(written):
        return False
    return spans_machines(node, deployment)


def _own_pod(node: NodeLaunch) -> bool:
    """Whether this is a producer in a pod of its own, which others never reach as localhost.

    One of both roles is, where it is named as the prefill side. Dynamo's worker sets the variable itself.
    """
    hands_over = node.role == "kv_producer" or (node.role == "kv_both" and named_side(node) == "prefill")
    own_network = not (node.container and node.container.host_network)
    return node.form == "manifest" and node.program != "dynamo" and hands_over and own_network


def _uses_ray(node: NodeLaunch) -> bool:
    backends = (node.value("data-parallel-backend"), node.value("distributed-executor-backend"))
    return any(backend is not None and backend.value == "ray" for backend in backends)


def _dp_place(node: NodeLaunch) -> Origin:
    arg = node.arg("data-parallel-address") or node.arg("data-parallel-size-local") or node.arg("data-parallel-size")
    arg = arg or node.arg("nnodes")
    return arg.origin if arg else node.origin
