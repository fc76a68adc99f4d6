"""Pairs of vLLM's own options that it refuses at start: the part of rule PD114 that is not vllm-ascend's."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd1_role.option_pairs import Conflict
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.engine.offload import served
from pd_launch.schemas.engine.running import put_in_place, running
from pd_launch.schemas.engine.sleep import refuses_sleep
from pd_launch.schemas.releases.domains import FLOAT_CACHE, FLOAT_NAMES
from pd_launch.schemas.releases.stock import FLOAT_CACHE as FLOAT_CACHE_MATCHES


def vllm_conflicts(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    """Yield every pair that ``target``'s vLLM refuses."""
    yield from _sleep(node, target)
    yield from _cache_dtype(node, target)
    yield from _offload_size(node, target)
    yield from _routed_experts(node, target)


def _sleep(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    if not node.switch("enable-sleep-mode"):
        return
    for connector in running(node, target):
        if refuses_sleep(connector, node, target):
            yield Conflict(
                node.named("enable-sleep-mode")[-1].origin,
                f"{connector.name} as configured does not work with sleep mode",
                f"{connector.name} 在当前配置下不支持睡眠模式",
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
            f"--kv-cache-dtype {word} cannot be combined with --dtype {model.string()}",
            f"--kv-cache-dtype {word} 与 --dtype {model.string()} 不能同时使用",
            model.origin,
        )


def _offload_size(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    """``--kv-offloading-size`` puts a connector of its own in the place of whatever is configured, as ``kv_both``."""
    size, config = node.value("kv-offloading-size"), node.kv_transfer
    if size is None or config is None or size.value in (None, "None"):
        return
    written, put = config.get("kv_connector"), put_in_place(node, target)
    if written is None or written.string() is None or written.value in put:
        return
    shown, shown_zh = " or ".join(put), " 或 ".join(put)
    yield Conflict(
        node.named("kv-offloading-size")[-1].origin,
        f"--kv-offloading-size replaces {written.value} with {shown} and sets the role to kv_both: the configured "
        "connector never starts",
        f"--kv-offloading-size 会用 {shown_zh} 取代 {written.value}，角色变成 kv_both：所配置的连接器不会启动",
        written.origin,
        Msg(
            "leave it out, and configure both connectors as children of a MultiConnector",
            "去掉它，把两个连接器都写成 MultiConnector 的子连接器",
        ),
    )


def _routed_experts(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    """The bundled connector refuses to start: routed experts of tokens that were restored never come."""
    if not node.switch("enable-return-routed-experts"):
        return
    for connector in served(node, target):
        if connector.is_bundled_offload:
            yield Conflict(
                node.named("enable-return-routed-experts")[-1].origin,
                f"{connector.name} of pd_launch.connector does not start with --enable-return-routed-experts",
                f"pd_launch.connector 的 {connector.name} 不能与 --enable-return-routed-experts 一起启动",
                (connector.tree.get("kv_connector") or connector.tree).origin,
            )
