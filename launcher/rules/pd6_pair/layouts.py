"""The comparisons of rule PD604: one function for each setting of the cache that both sides must agree on."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd6_pair.context_blocks import DCP, pairs_blocks, pairs_contexts
from pd_launch.launcher.rules.pd6_pair.pairs import PREFILL
from pd_launch.launcher.rules.places import at
from pd_launch.launcher.rules.registry import Hit
from pd_launch.schemas.core.compare import differ
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.severity import Severity
from pd_launch.schemas.core.target import Target
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.engine.nixl import both_nixl, copies_on_decode, hashes_count, uses_host_buffer
from pd_launch.schemas.engine.pairs import POOLS
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.connector_options import MORIIO_VARIABLES_IGNORED
from pd_launch.schemas.releases.handshake import (
    CROSS_LAYERS,
    HOST_BUFFER_ONE_SIZE,
    MOONCAKE_RANKS_DIVIDE,
    RANKS_DIVIDE,
    READER_DIVIDES,
)
from pd_launch.schemas.releases.sizing import FORCED_BLOCK, V4_FAMILY, VLLM_BLOCK, real_block
from pd_launch.schemas.releases.transfers import V4_BLOCKS

LAYOUT = "VLLM_KV_CACHE_LAYOUT"
CROSS = "enable_cross_layers_blocks"
MORIIO = "MoRIIOConnector"
HASH = "prefix-caching-hash-algo"


def block_sizes(prefill: NodeLaunch, decode: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Compare the block sizes that really count."""
    target = deployment.target
    left, right = block_of(prefill, target), block_of(decode, target)
    if left is None or right is None or not differ(left, right):
        return
    what = Msg(f"block size {right} on decode, {left} on prefill", f"块大小在解码侧是 {right}，在预填充侧是 {left}")
    if both_nixl(prefill, decode, target) and READER_DIVIDES.holds(target):
        yield from _copied(prefill, decode, deployment, (left, right), what)
        return
    divides = max(left, right) % min(left, right) == 0
    supported = pairs_blocks(prefill, decode, (left, right), target) if target.is_ascend else divides
    a_default = any(node.arg("block-size") is None for node in (prefill, decode))
    is_warning = supported or (a_default and V4_FAMILY in (_family(prefill), _family(decode)))
    help_ = Msg("write the same --block-size on both sides", "两侧写相同的 --block-size")
    yield _hit(prefill, decode, "block-size", what, help_, "warning" if is_warning else "error")


def tensor_sizes(prefill: NodeLaunch, decode: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Compare tensor parallel sizes for vLLM's NixlConnector and MooncakeConnector: one is a multiple of the other."""
    left, right, target = prefill.tensor, decode.tensor, deployment.target
    if not left or not right or max(left, right) % min(left, right) == 0 or target.is_ascend:
        return
    shared = {c.name for c in connectors(prefill.kv_transfer)} & {c.name for c in connectors(decode.kv_transfer)}
    nixl = both_nixl(prefill, decode, target) and RANKS_DIVIDE.holds(target)
    if nixl or ("MooncakeConnector" in shared and MOONCAKE_RANKS_DIVIDE.holds(target)):
        name = "NixlConnector" if nixl else "MooncakeConnector"
        what = Msg(
            (
                f"tensor parallel size {right} on decode, {left} on prefill: {name} needs one to be a multiple of the "
                "other"
            ),
            f"张量并行大小在解码侧是 {right}，在预填充侧是 {left}：{name} 要求其中一个是另一个的倍数",
        )
        help_ = Msg("use sizes where one divides the other", "让其中一个能整除另一个")
        yield _hit(prefill, decode, "tensor-parallel-size", what, help_, "error")


def _copied(
    prefill: NodeLaunch, decode: NodeLaunch, deployment: Deployment, sizes: tuple[int, int], what: Msg
) -> Iterator[Hit]:
    """Compare as NixlConnector does: the block of the side that copies is a whole number of the other's blocks."""
    left, right = sizes
    reads = copies_on_decode(prefill, decode)
    own, other = (right, left) if reads else (left, right)
    side, side_zh, verb, verb_zh = (
        ("decode", "解码", "reads", "读取") if reads else ("prefill", "预填充", "writes", "写入")
    )
    if own % other:
        message = Msg(
            f"{what.en}: the {side} side {verb}, and {own} is not a multiple of {other}",
            f"{what.zh}：由{side_zh}侧{verb_zh}，而 {own} 不是 {other} 的倍数",
        )
        severity: Severity = "error"
    elif HOST_BUFFER_ONE_SIZE.holds(deployment.target) and any(map(uses_host_buffer, (prefill, decode))):
        message = Msg(
            f"{what.en}: with kv_buffer_device cpu the sizes must match",
            f"{what.zh}：kv_buffer_device 为 cpu 时必须相同",
        )
        severity = "error"
    else:
        message, severity = what, "warning"
    help_ = Msg("write the same --block-size on both sides", "两侧写相同的 --block-size")
    yield _hit(prefill, decode, "block-size", message, help_, severity)


def _family(node: NodeLaunch) -> str:
    facts = model_of(node)
    return facts.family if facts is not None else ""


def block_of(node: NodeLaunch, target: Target) -> int | None:
    """Return the block size that the release really uses, or None where it is unknown."""
    written = node.number("block-size", 0)
    if written is None or (written == 0 and not target.is_ascend):
        return None
    facts = model_of(node) if target.is_ascend else None
    if facts is None or facts.hybrid is not False:
        return written or None
    if written == 0:
        if facts.family != V4_FAMILY:
            return FORCED_BLOCK
        return real_block(VLLM_BLOCK, facts.family, target) if V4_BLOCKS.holds(target) else None
    return real_block(written, facts.family, target)


def hybrid_manager(prefill: NodeLaunch, decode: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Compare what both sides say of the hybrid KV cache manager; it matters where layers are of several kinds."""
    flag = "disable-hybrid-kv-cache-manager"
    left, right = prefill.switch(flag), decode.switch(flag)
    if left is None or right is None or not differ(left, right):
        return
    facts = model_of(decode) or model_of(prefill)
    hashed = hashes_count(prefill, decode, deployment.target)  # whatever the model is
    if not hashed and facts is not None and facts.hybrid is False and facts.sliding_window is False:
        return
    states = {True: ("off", "关闭"), False: ("on", "打开")}
    (first, first_zh), (second, second_zh) = states[left], states[right]
    yield _hit(
        prefill,
        decode,
        flag if right else f"no-{flag}",
        Msg(
            f"the hybrid KV cache manager is {second} on decode and {first} on prefill",
            f"混合 KV 缓存管理器在解码侧是{second_zh}的，在预填充侧是{first_zh}的",
        ),
        Msg("write the same on both sides", "两侧写成一样"),
        "error",
        flag if left else f"no-{flag}",
    )


def context(prefill: NodeLaunch, decode: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Compare decode context parallelism: only MooncakeConnectorV1 pairs sizes that differ, and not all of them."""
    left, right = prefill.number(DCP, 1), decode.number(DCP, 1)
    contexts = prefill.prefill_context, decode.prefill_context
    if left is None or right is None or not differ(left, right) or contexts[0] is None or contexts[1] is None:
        return
    supported = pairs_contexts(prefill, decode, deployment.target)
    yield _hit(
        prefill,
        decode,
        DCP,
        Msg(
            f"decode context parallelism is {right} on decode and {left} on prefill",
            f"解码上下文并行大小在解码侧是 {right}，在预填充侧是 {left}",
        ),
        Msg(f"write the same --{DCP} on both sides", f"两侧写相同的 --{DCP}"),
        "warning" if supported else "error",
    )


def kv_layout(prefill: NodeLaunch, decode: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Compare VLLM_KV_CACHE_LAYOUT; enable_permute_local_kv on decode lets NixlConnector convert it."""
    left, right = prefill.env.get(LAYOUT), decode.env.get(LAYOUT)
    if left is None or right is None:
        return
    first, second = left.value.string(), right.value.string()
    if not first or not second or not differ(first.upper(), second.upper()):
        return
    permuted = decode.kv_transfer.get("enable_permute_local_kv") if decode.kv_transfer else None
    supported = not deployment.target.is_ascend and permuted is not None and _on(permuted)
    yield Hit(
        right.value.origin,
        Msg(
            f"{LAYOUT} is {second} on decode and {first} on prefill",
            f"{LAYOUT} 在解码侧是 {second}，在预填充侧是 {first}",
        ),
        Msg(f"set the same {LAYOUT} on both sides", f"两侧设置相同的 {LAYOUT}"),
        severity="warning" if supported else "error",
        related=((left.value.origin, PREFILL),),
    )


def _on(node: Node) -> bool:
    """Whether a switch is on; vLLM takes it as a text too, as its documentation writes it."""
    return node.value is True or str(node.value).lower() in ("true", "1", "yes", "on", "t", "y")


def cross_layers(prefill: NodeLaunch, decode: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Compare enable_cross_layers_blocks: NixlConnector puts the layout it gives into its handshake.

    A MultiConnector's children and the caches of MLA and hybrid models never have that layout.
    """
    facts = model_of(decode) or model_of(prefill)
    if not CROSS_LAYERS.holds(deployment.target) or deployment.target.is_ascend:
        return
    if facts and (facts.attention == "mla" or facts.hybrid):
        return
    left, right = _crosses(prefill), _crosses(decode)
    if left is None or right is None or not differ(left, right):
        return
    node, side, side_zh = (decode, "decode", "解码") if right else (prefill, "prefill", "预填充")
    option = Connector(node.kv_transfer).option(CROSS) if node.kv_transfer else None
    yield Hit(
        (option.key or option.origin) if option else node.origin,
        Msg(f"{CROSS} is on for {side} only", f"只有{side_zh}侧打开了 {CROSS}"),
        Msg("write it on both sides or on neither", "两侧都写，或都不写"),
        severity="error",
    )


def _crosses(node: NodeLaunch) -> bool | None:
    """Whether a NixlConnector lays blocks across layers; None where that is unknown or another connector is used."""
    if node.kv_transfer is None or Connector(node.kv_transfer).name != "NixlConnector":
        return None
    extra = Connector(node.kv_transfer).extra
    option = Connector(node.kv_transfer).option(CROSS)
    if (extra is not None and not extra.known) or (option is not None and not option.known):
        return None
    return option is not None and str(option.value).lower() == "true"


def moriio_mode(prefill: NodeLaunch, decode: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Compare MoRIIOConnector's mode: one side would wait for what the other never does."""
    if not MORIIO_VARIABLES_IGNORED.holds(deployment.target):
        return
    left, right = _reads(prefill), _reads(decode)
    if left is None or right is None or not differ(left, right):
        return
    node = decode if right else prefill
    option = next((c.option("read_mode") for c in connectors(node.kv_transfer) if c.name == MORIIO), None)
    side, side_zh = ("decode", "解码") if right else ("prefill", "预填充")
    yield Hit(
        option.origin if option is not None else node.origin,
        Msg(
            f"read_mode is on for {side} only: the other side writes",
            f"只有{side_zh}侧打开了 read_mode：另一侧是写模式",
        ),
        Msg("write the same read_mode on both sides", "两侧写相同的 read_mode"),
        severity="error",
    )


def _reads(node: NodeLaunch) -> bool | None:
    """Whether MoRIIOConnector is in READ mode; None where that is unknown or another connector is used."""
    own = next((c for c in connectors(node.kv_transfer) if c.name == MORIIO), None)
    if own is None or (own.extra is not None and not own.extra.known):
        return None
    option = own.option("read_mode")
    if option is not None and not option.known:
        return None
    return option is not None and str(option.value).lower().strip() in ("true", "1")


def hash_algorithm(prefill: NodeLaunch, decode: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Compare the prefix hash algorithm, from which the keys of a shared KV pool follow."""
    values = [node.value(HASH) for node in (prefill, decode)]
    left, right = (value.string() if value is not None else None for value in values)
    pools = all(any(c.name in POOLS for c in connectors(node.kv_transfer)) for node in (prefill, decode))
    if not pools or left is None or right is None or not differ(left, right):
        return
    yield _hit(
        prefill,
        decode,
        HASH,
        Msg(
            f"--{HASH} is {right} on decode and {left} on prefill", f"--{HASH} 在解码侧是 {right}，在预填充侧是 {left}"
        ),
        Msg("write the same on both sides: the pool's keys depend on it", "两侧写成一样：KV 池的键由它算出"),
        "error",
    )


def _hit(
    prefill: NodeLaunch, decode: NodeLaunch, flag: str, message: Msg, help: Msg, severity: Severity, other: str = ""
) -> Hit:
    """Return a hit where the decode side (or else the prefill side) writes the flag."""
    place, before = at(decode, flag), at(prefill, other or flag)
    return Hit(place, message, help, severity=severity, related=((before, PREFILL),))
