"""PD706 hash-seed."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.registry import Hit, rule
from pd_launch.schemas.core.compare import differ
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.engine.kv_transfer import Connector, connectors

SEED = "PYTHONHASHSEED"
POOLS = ("AscendStoreConnector", "MooncakeConnectorStoreV1")
"""Connectors of pools that several engines share; their keys come from vLLM's block hashes."""
SHARING = ("MooncakeStoreConnector",)
"""Also the memory of one engine alone, and then one process makes all hashes."""
SERVED = ("LMCacheMPConnector",)
"""Connectors whose server computes the keys, from the tokens alone (lmcache/v1/multiprocess/token_hasher.py, 0.5.6)."""

ZH = """
KV 池需要固定的 PYTHONHASHSEED

## 作用

使用 KV 池（AscendStoreConnector 等，以及 OffloadingConnector 的 p2p 缓存层）的节点没有设置 `PYTHONHASHSEED`、设成了
`random`，或者各节点的值不同时报告。有多个 rank 的引擎使用 LMCache，或者几个引擎、几个数据并行 rank
通过 LMCache 或 MooncakeStoreConnector 共用一个存储时，同样需要它，报告为警告；
LMCacheMPConnector 由服务器自己计算哈希，不需要。如果脚本还会引入别的环境变量文件，则不报告。

## 为什么重要

没有固定的种子，每个进程算出的块哈希都不同，KV 池永远不会命中。

## 适用版本

所有版本。

## 来源

vllm/v1/core/kv_cache_utils.py（NONE_HASH）；vllm/v1/kv_offload/tiering/p2p/manager.py（0.27.1）；
vllm-ascend 的 kv_pool 指南与 PR 5398；LMCache issue 1739。
"""


@rule("PD706", "hash-seed", "error", zh=ZH, needs="C")
def hash_seed(deployment: Deployment) -> Iterator[Hit]:
    """A KV pool needs a fixed PYTHONHASHSEED.

    ## What it does

    Fires on a node with a KV pool (AscendStoreConnector and similar, the p2p tier of OffloadingConnector) where
    `PYTHONHASHSEED` is not set, is `random`, or differs between the nodes. LMCache with several ranks, and engines or
    ranks of data parallelism that share a store through LMCache or MooncakeStoreConnector, need it too: a warning; not
    LMCacheMPConnector, whose server hashes by itself. A script that reads more variables from another file is not
    reported.

    ## Why it matters

    Without a fixed seed each process computes other block hashes, so what is in the pool is never found again.

    ## Example

    ```bash
    export MOONCAKE_CONFIG_PATH=/etc/mooncake.json
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both"}'
    ```

    ## Use instead

    ```bash
    export MOONCAKE_CONFIG_PATH=/etc/mooncake.json
    export PYTHONHASHSEED=0
    vllm serve /models/m --kv-transfer-config '{"kv_connector": "AscendStoreConnector", "kv_role": "kv_both"}'
    ```

    ## Releases

    All.

    ## Sources

    vllm/v1/core/kv_cache_utils.py (NONE_HASH); vllm/v1/kv_offload/tiering/p2p/manager.py at 0.27.1; vllm-ascend's
    guide to its KV pool and pull request 5398; LMCache issue 1739.
    """
    pools = [node for node in deployment.nodes if _pool(node, deployment) is not None]
    for node in pools:
        yield from _unset(node, deployment)
    yield from _differs(pools, deployment)


def _pool(node: NodeLaunch, deployment: Deployment) -> Connector | None:
    """Return the connector that needs the seed, or None."""
    for connector in connectors(node.kv_transfer):
        shared = (_is_lmcache(connector) or connector.name in SHARING) and _shared(connector, node, deployment)
        if connector.name in POOLS or "p2p" in _tiers(connector) or shared:
            return connector
    return None


def _tiers(connector: Connector) -> set[str | None]:
    """Return the kinds of the tiers below an OffloadingConnector; ``p2p`` ends at start without a seed."""
    tiers = connector.option("secondary_tiers") if connector.name == "OffloadingConnector" else None
    kinds = [tier.get("type") for tier in tiers.elements()] if tiers is not None else []
    return {kind.string() for kind in kinds if kind is not None}


def _is_lmcache(connector: Connector) -> bool:
    return (connector.name or "").startswith("LMCache") and connector.name not in SERVED


def _only_hits(connector: Connector) -> bool:
    """Whether the engine works without the seed, and only what others stored is not found."""
    return _is_lmcache(connector) or connector.name in SHARING


def _shared(connector: Connector, node: NodeLaunch, deployment: Deployment) -> bool:
    """Whether several processes look up the same hashes: more than one rank, or another engine with its settings."""
    if connector.name in SHARING:  # the scheduler alone makes the keys, one for each rank of data parallelism
        alike = [n for n in deployment.nodes if any(c.name in SHARING for c in connectors(n.kv_transfer))]
        return (node.data or 1) > 1 or len(alike) > 1 or node.role in ("kv_producer", "kv_consumer")
    alike = [other for other in deployment.nodes if any(map(_is_lmcache, connectors(other.kv_transfer)))]
    fleet = len(alike) > 1 and "LMCACHE_CONFIG_FILE" in node.env
    return (
        (node.world_size or 1) > 1
        or node.role in ("kv_producer", "kv_consumer")
        or "LMCACHE_REMOTE_URL" in node.env
        or fleet
    )


def _unset(node: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    connector = _pool(node, deployment)
    found = node.env.get(SEED)
    if connector is None:
        return
    if found is None:
        if node.env_open is not None:
            return
        written = connector.tree.get("kv_connector")
        origin = written.origin if written else connector.tree.origin
        message = Msg(f"{SEED} is not set, but {connector.name} needs it", f"{connector.name} 需要 {SEED}，但没有设置")
    elif found.value.string() in ("random", ""):
        origin = found.value.origin
        message = Msg(f"{SEED} is not fixed, but {connector.name} needs it", f"{connector.name} 需要固定的 {SEED}")
    else:
        return
    yield Hit(
        origin,
        message,
        Msg(f"export {SEED}=0 on all nodes", f"在所有节点上导出 {SEED}=0"),
        severity="warning" if _only_hits(connector) else "error",
    )


def _differs(pools: list[NodeLaunch], deployment: Deployment) -> Iterator[Hit]:
    seeds = [(node, seed) for node in pools if (seed := node.variable(SEED)) not in (None, "", "random")]
    for node, seed in seeds[1:]:
        first, other = seeds[0]
        connector = _pool(node, deployment)
        if differ(seed, other) and connector is not None:
            yield Hit(
                node.env[SEED].value.origin,
                Msg(
                    f"{SEED} is {seed} here and {other} on another node",
                    f"{SEED} 在这里是 {seed}，在另一个节点上是 {other}",
                ),
                Msg(f"export the same {SEED} on all nodes", f"在所有节点上导出相同的 {SEED}"),
                severity="warning" if _only_hits(connector) else "error",
                related=((first.env[SEED].value.origin, Msg("the other value", "另一个值")),),
            )
