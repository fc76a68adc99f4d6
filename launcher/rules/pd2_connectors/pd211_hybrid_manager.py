"""PD211 hybrid-manager."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Origin
from pd_launch.schemas.engine.kv_transfer import Connector
from pd_launch.schemas.engine.running import running
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.connectors import ASCEND_CONNECTORS, supports_hma

FLAG = "disable-hybrid-kv-cache-manager"

ZH = """
混合 KV 缓存管理器与连接器或模型不匹配

## 作用

三种情况会报告：用 `--no-disable-hybrid-kv-cache-manager` 强制打开，而某个连接器不支持；用
`--disable-hybrid-kv-cache-manager` 关闭，而模型含 Mamba 或线性注意力层；什么都没写，但因为某个连接器不支持，
vLLM 会自己关闭它，而模型需要它。

## 为什么重要

强制打开时，引擎会拒绝启动；关闭后，含 Mamba 或线性注意力层的模型会在分配 KV 缓存时失败。

## 适用版本

所有版本；哪个连接器从哪个版本起支持，见表。

## 来源

vLLM 的 config/vllm.py（0.27.1 第 1639–1662 行）与 kv_connector/factory.py（0.23.0）；各版本连接器的类声明。
"""


@rule("PD211", "hybrid-manager", "error", zh=ZH, needs="C R")
def hybrid_manager(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    r"""The hybrid KV cache manager does not fit the connector or the model.

    ## What it does

    Fires when `--no-disable-hybrid-kv-cache-manager` forces it on and a connector lacks it, when
    `--disable-hybrid-kv-cache-manager` turns it off and the model has Mamba or linear-attention layers, and when
    neither is given but vLLM turns it off itself, because a connector lacks it, for a model that needs it.

    ## Why it matters

    Forced on, the engine refuses to start; off, a model with Mamba or linear-attention layers fails while its KV cache
    is set up.

    ## Example

    ```bash
    # target: 0.23.0
    vllm serve Qwen/Qwen3-32B --no-disable-hybrid-kv-cache-manager \
      --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
    ```

    ## Use instead

    ```bash
    # target: 0.23.0
    vllm serve Qwen/Qwen3-32B \
      --kv-transfer-config '{"kv_connector": "LMCacheConnectorV1", "kv_role": "kv_both"}'
    ```

    ## Releases

    All; a table lists the connectors that support it, and since which release.

    ## Sources

    vLLM's config/vllm.py (lines 1639-1662 at 0.27.1) and kv_connector/factory.py at 0.23.0; the class headers of the
    connectors in each release.
    """
    off = node.switch(FLAG)
    facts = model_of(node)
    hybrid = facts is not None and bool(facts.hybrid)
    lacking = [c for c in running(node, deployment.target) if _lacks(c, deployment.target)]
    if off is True and hybrid:
        yield Hit(
            _flag(node),
            Msg(
                "the hybrid KV cache manager is turned off, but this model has Mamba or linear-attention layers",
                "关闭了混合 KV 缓存管理器，但这个模型含有 Mamba 或线性注意力层",
            ),
            Msg(f"remove --{FLAG}", f"删掉 --{FLAG}"),
        )
        return
    for connector in lacking:
        place = connector.tree.get("kv_connector")
        if place is None or off is True:
            continue
        name, target = connector.name, deployment.target
        if off is False:
            yield Hit(
                _flag(node),
                Msg(
                    f"the hybrid KV cache manager is forced on, but {name} does not support it in {target}",
                    f"强制打开了混合 KV 缓存管理器，但 {target} 的 {name} 不支持它",
                ),
                _replace(connector, hybrid),
                related=((place.origin, Msg("this connector", "这个连接器")),),
            )
        elif hybrid:
            yield Hit(
                place.origin,
                Msg(
                    f"{name} does not support the hybrid KV cache manager in {target}, so vLLM turns it off, and this "
                    "model with its Mamba or linear-attention layers cannot start",
                    f"{target} 的 {name} 不支持混合 KV 缓存管理器，vLLM 会把它关闭，于是这个含 Mamba 或线性注意力"
                    "层的模型无法启动",
                ),
                _replace(connector, hybrid),
                severity="warning",
            )


def _lacks(connector: Connector, target: Target) -> bool:
    if connector.name is None or connector.tree.get("kv_connector_module_path") is not None:
        return False
    return supports_hma(connector.name, target) is False and not connector.children


def _replace(connector: Connector, hybrid: bool) -> Msg:
    if connector.name == "MooncakeConnectorV1":
        since = ASCEND_CONNECTORS[connector.name].hma_since
        return Msg(
            f"use {since} or newer, or MooncakeLayerwiseConnector",
            f"使用 {since} 或更新的版本，或 MooncakeLayerwiseConnector",
        )
    if hybrid:
        return Msg(f"serve this model without {connector.name}", f"部署这个模型时不要用 {connector.name}")
    return Msg(f"remove --no-{FLAG}, or the connector", f"删掉 --no-{FLAG}，或者去掉这个连接器")


def _flag(node: NodeLaunch) -> Origin:
    last = [arg for arg in node.args if arg.name in (FLAG, f"no-{FLAG}")]
    return last[-1].origin if last else node.origin
