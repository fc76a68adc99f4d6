"""Pairs of vLLM's own options that it refuses at start: the part of rule PD114 that is not vllm-ascend's."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd1_role.option_pairs import Conflict
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.engine.kv_transfer import connectors
from pd_launch.schemas.engine.sleep import refuses_sleep
from pd_launch.schemas.releases.domains import FLOAT_CACHE, FLOAT_NAMES
from pd_launch.schemas.releases.stock import FLOAT_CACHE as FLOAT_CACHE_MATCHES


def vllm_conflicts(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    """Yield every pair that ``target``'s vLLM refuses."""
    yield from _sleep(node, target)
    yield from _cache_dtype(node, target)


def _sleep(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    if not node.switch("enable-sleep-mode"):
        return
    for connector in connectors(node.kv_transfer):
        if refuses_sleep(connector, node, target):
            yield Conflict(
                node.named("enable-sleep-mode")[-1].origin,
                f"{connector.name} does not work with sleep mode as it is configured",
                f"{connector.name} 按当前配置不支持睡眠模式",
                (connector.tree.get("kv_connector") or connector.tree).origin,
            )


def _cache_dtype(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    cache, model = node.value("kv-cache-dtype"), node.value("dtype")
    if cache is None or model is None or not FLOAT_CACHE_MATCHES.holds(target):
        return
    word, dtype = cache.string(), FLOAT_NAMES.get(model.string() or "")
    if word in FLOAT_CACHE and dtype is not None and word != dtype:
        yield Conflict(
            cache.origin,
            f"--kv-cache-dtype {word} does not go with --dtype {model.string()}",
            f"--kv-cache-dtype {word} 与 --dtype {model.string()} 不能同用",
            model.origin,
        )
