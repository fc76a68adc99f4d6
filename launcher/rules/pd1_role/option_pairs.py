"""Pairs of options outside the scheduler that exclude each other: what rule PD114 looks at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node, Origin
from pd_launch.schemas.engine.scheduling import is_on, setting
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases import features
from pd_launch.schemas.releases.additional_keys import derived_from
from pd_launch.schemas.releases.environment import ascend_reads

FUSED_MC2_VARIABLE = "VLLM_ASCEND_ENABLE_FUSED_MC2"


class Conflict(NamedTuple):
    """Two options that exclude each other, with the places of both."""

    place: Origin
    en: str
    zh: str
    other: Origin | None = None
    help: Msg | None = None
    """What to write instead, where it is not simply one of the two."""


def conflicts(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    """Yield every pair that ``target``, a vllm-ascend, refuses."""
    for check in (
        _mc2, _reduce_sample, _mix_placement, _sparse_offload, _dump, _static_kernel, _xlite, _flashcomm,
        _prefill_context, _dsa_cp,
    ):  # fmt: skip
        yield from check(node, target)


def _both(one: Node, other: Node | None, en: str, zh: str) -> Conflict:
    second = (other.key or other.origin) if other else None
    return Conflict(one.key or one.origin, f"{en} cannot be combined", f"{zh}不能同时使用", second)


def fused_mc2(node: NodeLaunch, target: Target) -> Node | None:
    """Return where fused MC2 is switched on, by its key or its variable; None where it is off."""
    written = setting(node, "enable_fused_mc2") if features.FUSED_MC2_KEY.holds(target) else None
    if written is not None:
        return written if written.value in (1, 2) else None
    variable = node.env.get(FUSED_MC2_VARIABLE)
    text = variable.value.string() if variable and ascend_reads(FUSED_MC2_VARIABLE, target) else None
    return variable.value if variable and text is not None and text.strip() not in ("", "0") else None


def _mc2(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    hierarchy = is_on(node, "enable_mc2_hierarchy_comm")
    algorithm = setting(node, "mc2_comm_alg") if features.MC2_ALGORITHM.holds(target) else None
    if hierarchy is None and algorithm is not None and algorithm.value == "hierarchy":
        hierarchy = algorithm
    fused = fused_mc2(node, target)
    if hierarchy is not None and fused is not None:
        yield _both(hierarchy, fused, "hierarchical MC2 and fused MC2", "分层 MC2 与融合 MC2 ")


def _reduce_sample(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    reduce = is_on(node, "enable_reduce_sample")
    size = setting(node, "finegrained_tp_config", "lmhead_tensor_parallel_size")
    if features.REDUCE_SAMPLE.holds(target) and reduce is not None and size is not None and (size.integer() or 0) > 0:
        yield _both(
            reduce,
            size,
            "enable_reduce_sample and lmhead_tensor_parallel_size",
            "enable_reduce_sample 与 lmhead_tensor_parallel_size ",
        )


def _mix_placement(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    mixed = is_on(node, "mix_placement")
    if mixed is None or not features.MIX_PLACEMENT.holds(target):
        return
    overlap = is_on(node, "multistream_overlap_shared_expert")
    shared = is_on(node, "enable_shared_expert_dp")
    if overlap is not None and fused_mc2(node, target) is None:  # fused MC2 switches the overlap off
        yield _both(
            mixed,
            overlap,
            "mix_placement and multistream_overlap_shared_expert",
            "mix_placement 与 multistream_overlap_shared_expert ",
        )
    if shared is not None and node.switch("enable-expert-parallel") and (node.tensor or 1) > 1:
        yield _both(
            mixed, shared, "mix_placement and enable_shared_expert_dp", "mix_placement 与 enable_shared_expert_dp "
        )


def _sparse_offload(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    sparse = is_on(node, "sparse_kv_offload_config", "enabled")
    if sparse is None or not features.SPARSE_OFFLOAD.holds(target):
        return
    for key in ("enable_sparse_sfa_c8", "enable_sparse_sfa_turboquant"):
        derived = derived_from(key, target)
        cache = is_on(node, key) if derived is None else node.value(derived[0])
        if cache is None or (derived is not None and cache.value not in derived[1]):
            continue
        name = key if derived is None else f"--{derived[0]} {cache.value}"
        yield _both(sparse, cache, f"sparse KV offload and {name}", f"稀疏 KV 卸载与 {name} ")
    for flag in ("pipeline-parallel-size", "prefill-context-parallel-size", "decode-context-parallel-size"):
        arg, size = node.arg(flag), node.number(flag, 1)
        if arg is not None and size is not None and size > 1:
            yield Conflict(
                sparse.key or sparse.origin,
                f"sparse KV offload does not work with --{flag} {size}",
                f"稀疏 KV 卸载不能与 --{flag} {size} 一起使用",
                arg.origin,
            )


def _dump(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    inline, path = setting(node, "dump_config"), setting(node, "dump_config_path")
    given = inline is not None and path is not None and inline.value is not None and path.value is not None
    if given and inline is not None and features.DUMP_TWICE.holds(target):
        yield _both(inline, path, "dump_config and dump_config_path", "dump_config 与 dump_config_path ")


def _static_kernel(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    kernel = is_on(node, "ascend_compilation_config", "enable_static_kernel")
    graphs = setting(node, "ascend_compilation_config", "enable_npugraph_ex")
    if kernel is not None and graphs is not None and graphs.value is False and features.STATIC_KERNEL.holds(target):
        yield Conflict(
            kernel.key or kernel.origin,
            "enable_static_kernel needs enable_npugraph_ex, which is off",
            "enable_static_kernel 需要 enable_npugraph_ex，而它已关闭",
            graphs.key or graphs.origin,
        )


def _xlite(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    xlite = is_on(node, "xlite_graph_config", "enabled")
    if xlite is None or not features.XLITE.holds(target):
        return
    pipeline = node.arg("pipeline-parallel-size")
    if pipeline is not None and (node.pipeline or 1) > 1:
        yield Conflict(
            xlite.key or xlite.origin,
            "Xlite graphs do not work with pipeline parallelism",
            "Xlite 图不能与流水线并行一起使用",
            pipeline.origin,
        )
    speculative = node.value("speculative-config")
    count = speculative.get("num_speculative_tokens") if speculative else None
    if count is not None and (count.integer() or 1) != 1:
        yield Conflict(
            xlite.key or xlite.origin,
            f"Xlite graphs allow one draft token, not {count.integer()}",
            f"Xlite 图只允许一个草稿 token，而不是 {count.integer()} 个",
            count.origin,
        )


def _flashcomm(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    place = _flashcomm_place(node, target)
    if place is None:
        return
    if node.tensor == 1:
        yield Conflict(
            place,
            "FlashComm needs --tensor-parallel-size above 1",
            "FlashComm 需要 --tensor-parallel-size 大于 1",
        )
        return
    model = model_of(node)
    expert = node.switch("enable-expert-parallel")
    if model is not None and model.moe and not expert:
        yield Conflict(
            place,
            "FlashComm needs --enable-expert-parallel with an MoE model",
            "MoE 模型使用 FlashComm 需要 --enable-expert-parallel",
        )


def _flashcomm_place(node: NodeLaunch, target: Target) -> Origin | None:
    additional = node.additional
    if additional is not None and additional.get("enable_flashcomm1") is not None:
        written = is_on(node, "enable_flashcomm1") if features.FLASHCOMM_KEY.holds(target) else None
        return (written.key or written.origin) if written else None
    variable = node.env.get("VLLM_ASCEND_ENABLE_FLASHCOMM1")
    if variable is None or not features.FLASHCOMM_VARIABLE.holds(target):
        return None
    return variable.value.origin if variable.value.string() in ("1", "true", "True") else None


def _prefill_context(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    arg, size = node.arg("prefill-context-parallel-size"), node.prefill_context
    if arg is None or size is None or size < 2:
        return
    place, data = arg.value.origin if arg.value is not None else arg.origin, node.arg("data-parallel-size")
    if features.PREFILL_CONTEXT_WITH_DATA.holds(target) and data is not None and (node.data or 1) > 1:
        yield Conflict(
            place,
            f"--prefill-context-parallel-size {size} does not work with data parallelism in {target}",
            f"{target} 的 --prefill-context-parallel-size {size} 不能与数据并行一起使用",
            data.origin,
        )
    variable = node.env.get("VLLM_USE_V2_MODEL_RUNNER")
    second = variable is not None and (not variable.value.known or variable.value.string() not in ("0", ""))
    if features.PREFILL_CONTEXT.holds(target) and not second:
        yield Conflict(
            place,
            f"{target} accepts --prefill-context-parallel-size {size} only with VLLM_USE_V2_MODEL_RUNNER=1",
            f"{target} 只有在 VLLM_USE_V2_MODEL_RUNNER=1 时才接受 --prefill-context-parallel-size {size}",
        )


def _dsa_cp(node: NodeLaunch, target: Target) -> Iterator[Conflict]:
    written = is_on(node, "enable_dsa_cp")
    if written is None or not features.DSA_CP.holds(target):
        return
    arg, variable = node.arg("prefill-context-parallel-size"), node.env.get("VLLM_USE_V2_MODEL_RUNNER")
    if arg is not None and (node.prefill_context or 1) > 1:
        yield Conflict(
            written.key or written.origin,
            f"enable_dsa_cp does not work with --prefill-context-parallel-size {node.prefill_context}",
            f"enable_dsa_cp 不能与 --prefill-context-parallel-size {node.prefill_context} 一起使用",
            arg.origin,
        )
    if variable is not None and variable.value.string() == "1":
        yield Conflict(
            written.key or written.origin,
            "enable_dsa_cp does not work with the V2 model runner (VLLM_USE_V2_MODEL_RUNNER=1)",
            "enable_dsa_cp 不能与 V2 model runner（VLLM_USE_V2_MODEL_RUNNER=1）一起使用",
            variable.value.origin,
        )
