"""Speculative decoding as --speculative-config says it."""

from __future__ import annotations

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.values import Node

TOKENS = "num_speculative_tokens"
_PARALLEL = ("dflash", "dspark")
"""Methods that draft all tokens at once."""
_KEYS = ("speculative-config", "spec-config")


def config_of(node: NodeLaunch) -> Node | None:
    """Return the tree of --speculative-config, or None."""
    return next((value for key in _KEYS if (value := node.value(key)) is not None), None)


def tokens_node(node: NodeLaunch) -> Node | None:
    """Return where the number of speculative tokens is written, or None."""
    config = config_of(node)
    return config.get(TOKENS) if config is not None else None


def speculative_tokens(node: NodeLaunch) -> int | None:
    """Return the draft tokens of each request and step: 0 without speculation, None where it is unknown."""
    config = config_of(node)
    if config is None:
        return None if node.partial else 0
    found = config.get(TOKENS)
    number = found.integer() if found else None
    return number if number is not None and number >= 0 else None


def method(node: NodeLaunch) -> str | None:
    """Return the method's name, or None where it is not written or unknown."""
    config = config_of(node)
    found = config.get("method") if config is not None else None
    return found.string() if found else None


def step_tokens(node: NodeLaunch) -> int | None:
    """Return the tokens of a step in which every sequence decodes with all its drafts; None where it is unknown."""
    sequences, drafts = node.number("max-num-seqs", 0), speculative_tokens(node)
    if not sequences or sequences < 0 or drafts is None:
        return None
    return sequences * (1 + drafts)


def extra_slots(node: NodeLaunch) -> int | None:
    """Return the slots of a step that drafting takes for each sequence up to vLLM 0.27; None where it is unknown.

    Source: SpeculativeConfig.max_num_new_slots_for_drafting in vllm/config/speculative.py at 0.27.1; 0.32.0 no longer
    takes them from the step.
    """
    config, name, drafts = config_of(node), method(node), speculative_tokens(node)
    if config is None or drafts is None:
        return None
    written = config.get("parallel_drafting")
    if written is not None and not isinstance(written.value, bool):
        return None
    parallel = (written is not None and written.value is True) or name in _PARALLEL
    return (max(0, drafts - 1) if parallel else 0) + (1 if name == "draft_model" else 0)
