"""Graph capture as --compilation-config and its own flags say it."""

from __future__ import annotations

from dataclasses import field

from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import Node, Origin, as_integer

SIZES = "cudagraph_capture_sizes"
MAX_SIZE = "max_cudagraph_capture_size"
MODE = "cudagraph_mode"
_FLAGS = {SIZES: "cudagraph-capture-sizes", MAX_SIZE: "max-cudagraph-capture-size"}


@dataclass
class Graphs:
    """What is written of graph capture. ``sizes`` and ``most`` are None where they are not written."""

    on: bool = True
    """Whether graphs are used at all, as far as it is written."""
    whole_steps: bool = False
    """Whether decode steps run as one graph each, as far as it is written."""
    sizes: list[int] | None = None
    sizes_at: Origin | None = None
    most: int | None = None
    most_at: Origin | None = None
    twice: list[tuple[str, Origin, Origin]] = field(default_factory=list)
    """Settings that can be given in the configuration and by a separate flag."""


def graphs_of(node: NodeLaunch) -> Graphs | None:
    """Return what is written of graph capture, or None where a part of it is unknown."""
    config = node.value("compilation-config")
    if config is not None and not config.complete():
        return None
    mode = config.get(MODE) if config is not None else None
    graphs = Graphs(on=not node.switch("enforce-eager") and not _off(config))
    graphs.whole_steps = mode is not None and str(mode.value).upper().startswith("FULL")
    for key, flag in _FLAGS.items():
        inside, arg = config.get(key) if config is not None else None, node.arg(flag)
        if inside is not None and arg is not None:
            graphs.twice.append((key, arg.origin, inside.key or inside.origin))
        if inside is None and arg is not None and arg.value is None:
            return None
        values = [arg.value, *arg.more] if arg is not None and arg.value is not None else []
        found = list(inside.elements()) if inside is not None and key == SIZES else []
        found = found or ([inside] if inside is not None and key == MAX_SIZE else [v for v in values if v is not None])
        if not _take(graphs, key, found, inside):
            return None
    return graphs


def _take(graphs: Graphs, key: str, found: list[Node], inside: Node | None) -> bool:
    """Store numbers; return whether all of them are known."""
    numbers = [as_integer(node.value) for node in found if node.value is not None]
    if None in numbers:
        return False
    known = [number for number in numbers if number is not None]
    place = inside.origin if inside is not None else found[0].origin if found else None
    if key == SIZES and (known or (inside is not None and inside.value == [])):
        graphs.sizes, graphs.sizes_at = known, place
    elif key == MAX_SIZE and known:
        graphs.most, graphs.most_at = known[0], place
    return True


def _off(config: Node | None) -> bool:
    mode = config.get(MODE) if config is not None else None
    return mode is not None and str(mode.value).upper() in ("NONE", "0")


def largest_made(most: int, batched: int) -> int:
    """Return the largest size that vLLM makes itself up to ``most``: 1, 2, 4, then steps of 8, and of 16 from 256 on.

    A batch limit up to ``most`` is captured too. Source: _set_cudagraph_sizes in vllm/config/vllm.py at 0.27.1.
    """
    if 0 < batched <= most:
        return batched
    step = 16 if most >= 256 else 8
    return most // step * step if most >= 8 else max(size for size in (1, 2, 4) if size <= max(most, 1))
