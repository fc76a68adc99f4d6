"""What a launch needs of the HCCL buffer, from its layout, its model and its batch."""

from __future__ import annotations

from typing import NamedTuple

from pd_launch.schemas.core.launch import Deployment, NodeLaunch
from pd_launch.schemas.engine.devices import A2_DEVICES, at_least, device_count
from pd_launch.schemas.engine.sides import side_of
from pd_launch.schemas.engine.speculation import step_tokens
from pd_launch.schemas.memory.hccl import A2_LEAST_RANKS, PLAIN_LIMIT, Experts, a2_bytes, a3_bytes, fused_bytes, to_mib
from pd_launch.schemas.models.known import model_of

FUSED_VARIABLE = "VLLM_ASCEND_ENABLE_FUSED_MC2"
FUSED_KEY = "enable_fused_mc2"
_REDUNDANT = ("enable-eplb", "eplb-config")
_REDUNDANT_KEYS = ("dynamic_eplb", "expert_map_path", "eplb_config", "num_redundant_experts", "init_redundancy_expert")


class Need(NamedTuple):
    """``mib`` of buffer, and what it follows from: ``tokens`` of one rank and step."""

    mib: int
    experts: Experts
    tokens: int
    fused: bool


def hccl_need(node: NodeLaunch, deployment: Deployment) -> Need | None:
    """Return what expert parallelism on Ascend needs, or None where a term is unknown or MC2 is not used."""
    experts, fused = _experts(node, deployment), fused_mc2(node)
    if experts is None or fused is None:
        return None
    tokens = _step(node, fused)
    if tokens is None or node.tensor is None:
        return None
    share = -(-tokens // node.tensor)
    if fused:
        return Need(to_mib(fused_bytes(experts, share)), experts, share, True)
    if side_of(node) == "prefill" or share > PLAIN_LIMIT:
        return None
    sizes = _plain(experts, share, node, deployment)
    return Need(to_mib(min(sizes)), experts, share, False) if sizes else None


def _experts(node: NodeLaunch, deployment: Deployment) -> Experts | None:
    """Return the model's experts and their spread, where all of it is known."""
    facts, world, data = model_of(node), node.world_size, node.data
    if not deployment.target.is_ascend or not node.switch("enable-expert-parallel") or facts is None:
        return None
    numbers = (facts.experts, facts.top_k, facts.shared_experts, facts.hidden_size)
    if None in numbers or not facts.experts or not world or not data or _redundant(node):
        return None
    ranks = world // (node.pipeline or 1) * data
    if ranks < 2:
        return None
    return Experts(facts.experts, facts.top_k or 0, facts.shared_experts or 0, facts.hidden_size or 0, ranks)


def _redundant(node: NodeLaunch) -> bool:
    """Whether experts may be kept more than once, so that the number of one rank is not known."""
    additional = node.additional
    if additional is not None and (not additional.known or any(additional.get(key) for key in _REDUNDANT_KEYS)):
        return True
    return any(node.arg(name) is not None for name in _REDUNDANT)


def _step(node: NodeLaunch, fused: bool) -> int | None:
    """Return the most tokens of one step of one engine that go this way."""
    batched, sequences = node.number("max-num-batched-tokens", 0), step_tokens(node)
    if batched is None:
        return None
    if fused and side_of(node) != "decode":
        return batched or None
    if sequences is None:
        return None
    return min(sequences, batched) if batched else sequences


def _plain(experts: Experts, tokens: int, node: NodeLaunch, deployment: Deployment) -> list[int]:
    count = device_count(node, deployment) or 0
    kind = node.hardware.kind if node.hardware is not None else None
    if kind == "a3" or max(count, at_least(node, deployment)) > A2_DEVICES:
        return [a3_bytes(experts, tokens)]
    if experts.ranks < A2_LEAST_RANKS:
        return []
    return [a2_bytes(experts, tokens)] if kind == "a2" else [a2_bytes(experts, tokens), a3_bytes(experts, tokens)]


def fused_mc2(node: NodeLaunch) -> bool | None:
    """Whether fused MC2 is switched on, by its variable or in --additional-config; None where it is unknown."""
    variable = node.env.get(FUSED_VARIABLE)
    if variable is not None:
        text = variable.value.string()
        return None if text is None else text.strip() not in ("", "0")
    found = node.additional.get(FUSED_KEY) if node.additional is not None else None
    if found is None:
        return False
    return None if not found.known else found.value not in (0, "0", False, None)
