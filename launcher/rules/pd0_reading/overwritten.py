"""Arguments and variables that the engine replaces by others without refusing them: a part of rule PD008.

Source: vllm/config/vllm.py, vllm/config/parallel.py, vllm/engine/arg_utils.py and lmcache_connector.py at 0.18.0,
0.23.0, 0.27.1, 0.32.0 and 0.33.0, in which all of it is the same; vllm_ascend/platform.py at 0.18.0 to 0.26.0rc1.
"""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd1_role.combined import combined
from pd_launch.launcher.rules.registry import Hit
from pd_launch.launcher.rules.variables import place_of
from pd_launch.schemas.core.compare import differ
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.severity import Severity
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node, Origin
from pd_launch.schemas.engine.kv_transfer import connectors

_DP_VARIABLES = ("VLLM_DP_SIZE", "VLLM_DP_RANK", "VLLM_DP_RANK_LOCAL", "VLLM_DP_MASTER_IP", "VLLM_DP_MASTER_PORT")


def overwritten(node: NodeLaunch, target: Target) -> Iterator[Hit]:
    """Yield what is written and replaced by something else, at the place of the loser."""
    yield from _layerwise(node)
    yield from _interleave(node)
    yield from _dump_path(node)
    yield from _hybrid_balancing(node)
    yield from _reasoning(node)
    yield from _dp_variables(node)
    for idle in combined(node, target, idle=True):
        related = (idle.other, Msg("it decides", "由它决定")) if idle.other else None
        yield _hit(
            idle.place, Msg(idle.en, idle.zh), Msg("keep only one of the two", "两者只保留一个"), "warning", related
        )
    quantization = _inside(node, "speculative-config", "quantization") if target.is_ascend else None
    if quantization is not None and quantization.value is not None:
        yield _hit(
            quantization.key or quantization.origin,
            Msg(
                f"{target} resets quantization of the drafts: they have the main model's",
                f"{target} 会重置草稿模型的 quantization：始终与主模型相同",
            ),
            Msg("remove it", "删掉它"),
            "info",
        )


def _layerwise(node: NodeLaunch) -> Iterator[Hit]:
    """LMCache layer by layer cannot be in a graph: full graphs become piecewise ones."""
    mode = _inside(node, "compilation-config", "cudagraph_mode")
    eager = node.arg("enforce-eager") is not None and node.switch("enforce-eager") is not False
    if mode is None or eager or "FULL" not in str(mode.value):
        return
    for connector in connectors(node.kv_transfer):
        option = connector.option("use_layerwise") if connector.name == "LMCacheConnectorV1" else None
        if option is not None and option.value is True:
            yield _hit(
                mode.key or mode.origin,
                Msg(
                    f"use_layerwise replaces cudagraph_mode {mode.value} by PIECEWISE",
                    f"use_layerwise 会把 cudagraph_mode {mode.value} 改为 PIECEWISE",
                ),
                Msg("write PIECEWISE, or leave use_layerwise out", "写 PIECEWISE，或去掉 use_layerwise"),
                "warning",
                (option.key or option.origin, Msg("this one takes effect", "生效的是这里")),
            )
            return


def _interleave(node: NodeLaunch) -> Iterator[Hit]:
    """The older name of the interleave size decides, where both are given."""
    new, old = node.value("cp-kv-cache-interleave-size"), node.value("dcp-kv-cache-interleave-size")
    sizes = (node.number("cp-kv-cache-interleave-size", 1), node.number("dcp-kv-cache-interleave-size", 1))
    if new is None or old is None or None in sizes or sizes[0] == sizes[1] or (sizes[1] or 0) < 2:
        return
    if (node.number("decode-context-parallel-size", 1) or 1) > 1:
        yield _hit(
            new.origin,
            Msg(
                f"--dcp-kv-cache-interleave-size {sizes[1]} replaces --cp-kv-cache-interleave-size {sizes[0]}",
                f"--dcp-kv-cache-interleave-size {sizes[1]} 会取代 --cp-kv-cache-interleave-size {sizes[0]}",
            ),
            Msg("keep only --cp-kv-cache-interleave-size", "只保留 --cp-kv-cache-interleave-size"),
            "warning",
            (old.origin, Msg("this one takes effect", "生效的是这里")),
        )


def _dump_path(node: NodeLaunch) -> Iterator[Hit]:
    path, variable = _inside(node, "compilation-config", "debug_dump_path"), node.env.get("VLLM_DEBUG_DUMP_PATH")
    if path is not None and path.string() and variable is not None and variable.value.value:
        yield _hit(
            path.key or path.origin,
            Msg("VLLM_DEBUG_DUMP_PATH replaces debug_dump_path", "VLLM_DEBUG_DUMP_PATH 会取代 debug_dump_path"),
            Msg("keep only one of the two", "两者只保留一个"),
            "info",
            (place_of(variable), Msg("this one takes effect", "生效的是这里")),
        )


def _hybrid_balancing(node: NodeLaunch) -> Iterator[Hit]:
    """Hybrid load balancing, which is switched off where a command starts one rank, or all of a side."""
    flag = node.arg("data-parallel-hybrid-lb")
    if flag is None or node.switch("data-parallel-hybrid-lb") is not True or node.partial:
        return
    rank, local = node.arg("data-parallel-rank"), node.arg("data-parallel-size-local")
    all_local = local is not None and node.local_engines is not None and node.local_engines == node.data
    if rank is not None:
        yield _hit(
            flag.origin,
            Msg(
                "--data-parallel-rank switches --data-parallel-hybrid-lb off: it means external load balancing",
                "--data-parallel-rank 会关闭 --data-parallel-hybrid-lb：它表示外部负载均衡",
            ),
            Msg("keep only one of the two", "两者只保留一个"),
            "warning",
            (rank.origin, Msg("this one takes effect", "生效的是这里")),
        )
    elif all_local and local is not None:
        yield _hit(
            flag.origin,
            Msg(
                "--data-parallel-hybrid-lb is switched off: all ranks of the side are on this node",
                "--data-parallel-hybrid-lb 会被关闭：这一侧的 rank 都在这个节点上",
            ),
            Msg("remove it", "删掉它"),
            "info",
            (local.origin, Msg("all of them", "全部 rank")),
        )


def _reasoning(node: NodeLaunch) -> Iterator[Hit]:
    inner, flag = _inside(node, "structured-outputs-config", "reasoning_parser"), node.value("reasoning-parser")
    if inner is None or flag is None or not inner.string() or not flag.string() or not differ(inner, flag):
        return
    yield _hit(
        inner.key or inner.origin,
        Msg(
            f"--reasoning-parser {flag.value} replaces reasoning_parser {inner.value}",
            f"--reasoning-parser {flag.value} 会取代 reasoning_parser {inner.value}",
        ),
        Msg("write it once, as --reasoning-parser", "只用 --reasoning-parser 写一次"),
        "warning",
        (flag.origin, Msg("this one takes effect", "生效的是这里")),
    )


def _dp_variables(node: NodeLaunch) -> Iterator[Hit]:
    """Variables of data parallelism count where no flag asks for it, and then in the place of the flag."""
    flag, data = node.value("data-parallel-size"), node.data
    if node.partial or not data or flag is None:
        return
    if data > 1:
        for name in _DP_VARIABLES:
            given = node.env.get(name)
            if given is not None:
                yield _hit(
                    place_of(given),
                    Msg(
                        f"--data-parallel-size {data} replaces {name}: it is not read",
                        f"写了 --data-parallel-size {data}，{name} 不会被读取",
                    ),
                    Msg("remove it; write the --data-parallel-… flags", "删掉它，用 --data-parallel-… 参数写"),
                    "info",
                    (flag.origin, Msg("this one takes effect", "生效的是这里")),
                )
        return
    size = node.variable("VLLM_DP_SIZE")
    if size is not None and size.isdecimal() and int(size) > 1:
        yield _hit(
            flag.origin,
            Msg(
                f"VLLM_DP_SIZE {size} replaces --data-parallel-size {data}",
                f"VLLM_DP_SIZE {size} 会取代 --data-parallel-size {data}",
            ),
            Msg(
                f"write --data-parallel-size {size}, or unset the variable",
                f"写 --data-parallel-size {size}，或去掉变量",
            ),
            "warning",
            (place_of(node.env["VLLM_DP_SIZE"]), Msg("this one takes effect", "生效的是这里")),
        )


def _inside(node: NodeLaunch, flag: str, field: str) -> Node | None:
    dotted, whole = node.value(f"{flag}.{field}"), node.value(flag)
    return dotted or (whole.get(field) if whole is not None else None)


def _hit(place: Origin, what: Msg, instead: Msg, severity: Severity, winner: tuple[Origin, Msg] | None = None) -> Hit:
    return Hit(place, what, instead, severity, related=() if winner is None else (winner,))
