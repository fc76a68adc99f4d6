"""The comparisons of rule PD604: one function for each setting of the cache that both sides must agree on."""

from __future__ import annotations

from collections.abc import Iterator

from pd_launch.launcher.rules.pd6_pair.pairs import PREFILL
from pd_launch.launcher.rules.places import at
from pd_launch.launcher.rules.registry import Hit
from pd_launch.schemas.core.compare import differ
from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.severity import Severity
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.engine.kv_transfer import Connector, connectors
from pd_launch.schemas.engine.pairs import POOLS
from pd_launch.schemas.models.known import model_of
from pd_launch.schemas.releases.sizing import FORCED_BLOCK, V4_FAMILY, real_block
from pd_launch.schemas.releases.transfers import BLOCKS_DIVIDE

DCP = "decode-context-parallel-size"
LAYOUT = "VLLM_KV_CACHE_LAYOUT"
CROSS = "enable_cross_layers_blocks"
HASH = "prefix-caching-hash-algo"


def block_sizes(prefill: NodeLaunch, decode: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Compare the block sizes that really count."""
    left, right = _block(prefill, deployment), _block(decode, deployment)
    if left is None or right is None or not differ(left, right):
        return
    divides = max(left, right) % min(left, right) == 0
    target = deployment.target
    supported = divides and (not target.is_ascend or (_mooncake(decode) and BLOCKS_DIVIDE.holds(target)))
    yield _hit(
        prefill,
        decode,
        "block-size",
        Msg(f"block size {right} on decode, {left} on prefill", f"block size 在解码是 {right},在预填充是 {left}"),
        Msg("write the same --block-size on both sides", "两侧写相同的 --block-size"),
        "warning" if supported else "error",
    )


def _block(node: NodeLaunch, deployment: Deployment) -> int | None:
    """Return the block size that the release really uses, or None where it is unknown."""
    written = node.number("block-size", 0)
    if written is None or (written == 0 and not deployment.target.is_ascend):
        return None
    facts = model_of(node) if deployment.target.is_ascend else None
    if facts is None or facts.hybrid is not False:
        return written or None
    if written == 0:
        return None if facts.family == V4_FAMILY else FORCED_BLOCK
    return real_block(written, facts.family, deployment.target)


def _mooncake(node: NodeLaunch) -> bool:
    return any(c.name == "MooncakeConnectorV1" for c in connectors(node.kv_transfer))


def hybrid_manager(prefill: NodeLaunch, decode: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Compare what both sides say of the hybrid KV cache manager; it matters where layers are of several kinds."""
    flag = "disable-hybrid-kv-cache-manager"
    left, right = prefill.switch(flag), decode.switch(flag)
    if left is None or right is None or not differ(left, right):
        return
    facts = model_of(decode) or model_of(prefill)
    if facts is not None and facts.hybrid is False and facts.sliding_window is False:
        return
    states = {True: ("off", "关闭"), False: ("on", "打开")}
    (first, first_zh), (second, second_zh) = states[left], states[right]
    yield _hit(
        prefill,
        decode,
        flag if right else f"no-{flag}",
        Msg(
            f"the hybrid KV cache manager is {second} on decode and {first} on prefill",
            f"混合 KV 缓存管理器在解码{second_zh},在预填充{first_zh}",
        ),
        Msg("write the same on both sides", "两侧写成一样"),
        "error",
        flag if left else f"no-{flag}",
    )


def context(prefill: NodeLaunch, decode: NodeLaunch, deployment: Deployment) -> Iterator[Hit]:
    """Compare decode context parallelism: the prefill side's share must be a multiple of the decode side's."""
    left, right = prefill.number(DCP, 1), decode.number(DCP, 1)
    contexts = prefill.prefill_context, decode.prefill_context
    if left is None or right is None or not differ(left, right) or contexts[0] is None or contexts[1] is None:
        return
    multiple = (left * contexts[0]) % (right * contexts[1] or 1) == 0
    supported = multiple and deployment.target.is_ascend and _mooncake(decode)
    yield _hit(
        prefill,
        decode,
        DCP,
        Msg(
            f"decode context parallelism is {right} on decode and {left} on prefill",
            f"解码上下文并行在解码是 {right},在预填充是 {left}",
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
        Msg(f"{LAYOUT} is {second} on decode and {first} on prefill", f"{LAYOUT} 在解码是 {second},在预填充是 {first}"),
        Msg(f"set the same {LAYOUT} on both sides", f"两侧设相同的 {LAYOUT}"),
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
    if deployment.target.is_ascend or (facts and (facts.attention == "mla" or facts.hybrid)):
        return
    left, right = _crosses(prefill), _crosses(decode)
    if left is None or right is None or not differ(left, right):
        return
    node, side, side_zh = (decode, "decode", "解码") if right else (prefill, "prefill", "预填充")
    option = Connector(node.kv_transfer).option(CROSS) if node.kv_transfer else None
    yield Hit(
        (option.key or option.origin) if option else node.origin,
        Msg(f"{CROSS} is on for {side} only", f"只有{side_zh}打开了 {CROSS}"),
        Msg("write it on both sides or on neither", "两侧都写,或都不写"),
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
        Msg(f"--{HASH} is {right} on decode and {left} on prefill", f"--{HASH} 在解码是 {right},在预填充是 {left}"),
        Msg("write the same on both sides: the pool's keys follow from it", "两侧写成一样:池的键由它得出"),
        "error",
    )


def _hit(
    prefill: NodeLaunch, decode: NodeLaunch, flag: str, message: Msg, help: Msg, severity: Severity, other: str = ""
) -> Hit:
    """Return a hit where the decode side (or else the prefill side) writes the flag."""
    place, before = at(decode, flag), at(prefill, other or flag)
    return Hit(place, message, help, severity=severity, related=((before, PREFILL),))
