"""The numbers for people: an explanation, a table over choices, bars, and the profile's own words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pd_launch.launcher.formats.text import yaml_text
from pd_launch.launcher.size.ask import Answer, proposal
from pd_launch.launcher.wording.nouns import seat
from pd_launch.schemas.core.units import counted, human_size
from pd_launch.schemas.engine.budget import PER_RANK, TOTAL
from pd_launch.schemas.memory.sizing_numbers import Sizing

Row = tuple[str, "Sizing | str"]
"""A choice, and its numbers or why there are none."""
BAR = 40
_HEAD = ("", "per {}", "per engine", "per node", "blocks", "requests", "/dev/shm", "pod memory")


def explained(found: Answer) -> str:
    """Return the numbers with how they come about."""
    sizing, layout, geometry = found.sizing, found.sizing.layout, found.sizing.geometry
    exact, on = "" if geometry.exact else " (estimate)", seat(found.node).en
    lines = [
        f"{found.node.model.value if found.node.model else ''} for {found.target}",
        f"  a block      {geometry.block_tokens} tokens, {human_size(geometry.block_bytes)} on each {on}{exact}",
        *_groups(sizing),
        f"  a request    {sizing.tokens} tokens, {sizing.blocks_per_request} blocks",
        "",
        f"  per {on}     {human_size(sizing.per_rank)} = {sizing.blocks} blocks",
        f"  per engine   {human_size(sizing.per_engine)} on {counted(layout.world, on)} ({layout.worlds})",
        f"  per node     {human_size(sizing.per_node)} on {counted(layout.engines, 'engine')}"
        + (f"; {layout.nodes} nodes: {human_size(sizing.per_node * layout.nodes)}" if layout.nodes > 1 else ""),
        f"  holds        {sizing.requests} such requests at once on each engine, or {sizing.tokens_fit} tokens",
        f"  /dev/shm     {human_size(sizing.shm)} ({human_size(layout.rings)} for vLLM's messages"
        + (f"; the guides ask for the budget of {human_size(sizing.per_node)} as well)" if layout.ascend else ")"),
        f"  pod memory   {human_size(sizing.pod_memory)}, with 8 GiB allowed for each rank's own process",
    ]
    if layout.null_blocks:
        lines.append("  one block of the built-in connector's pool never holds anything")
    if geometry.note:
        lines.append(f"  note         {geometry.note}")
    return "\n".join([*lines, "", *_divisions(sizing, on)]) + "\n"


def _groups(sizing: Sizing) -> list[str]:
    layout = sizing.geometry.layout
    if layout is None or len(layout.groups) < 2:
        return []
    named = {"full": "full attention", "window": "a window", "state": "states"}
    kinds = [f"{len(group.pages)} layers with {named[group.kind]}" for group in layout.groups]
    return [f"  groups       {len(kinds)}, each with its own blocks: {', '.join(kinds)}"]


def _divisions(sizing: Sizing, on: str) -> list[str]:
    """Say what cpu_bytes_to_use would be, and which divisions are wrong."""
    layout, total = sizing.layout, sizing.per_engine
    lines = [
        f"As {TOTAL} the same would be {total}: it is divided by the ranks of one engine, "
        f"{layout.worlds} = {layout.world}, and every engine has its own."
    ]
    if layout.data > 1:
        wrong = human_size(total // layout.data)
        lines.append(
            f"The guides divide it by DP {layout.data}, which would give {wrong} for a {on}; the code gives "
            f"{human_size(sizing.per_rank)}. Write per_rank, which nothing divides."
        )
    return lines


def fragment(found: Answer) -> str:
    """Return what to write into a profile."""
    return yaml_text(proposal(found))


def in_options(found: Answer) -> str:
    """Return what to write into launches that are no profile."""
    sizing = found.sizing
    return (
        f"In the options of the offload connector (kv_connector_extra_config):\n\n"
        f'"{PER_RANK}": {sizing.per_rank}\n\n'
        f"The container needs {human_size(sizing.shm)} of /dev/shm and {human_size(sizing.pod_memory)} of memory.\n"
    )


def table(name: str, rows: Sequence[Row], on: str) -> str:
    """Return a table over choices; ``on`` is what holds a rank, such as a card."""
    cells: list[tuple[str, ...]] = [(name, *(head.format(on) for head in _HEAD[1:]))]
    for choice, sizing in rows:
        if isinstance(sizing, str):
            cells.append((choice, sizing, *("",) * (len(_HEAD) - 2)))
        else:
            cells.append((choice, *_cells(sizing)))
    fitting = [row for row in cells if row[2]]
    widths = [max(len(row[i]) for row in fitting) for i in range(len(_HEAD))]
    widths[0] = max(len(row[0]) for row in cells)
    return "".join("  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)).rstrip() + "\n" for row in cells)


def _cells(sizing: Sizing) -> tuple[str, ...]:
    sizes = (sizing.per_rank, sizing.per_engine, sizing.per_node)
    asked = (sizing.shm, sizing.pod_memory)
    return (
        *map(human_size, sizes),
        str(sizing.blocks),
        str(sizing.requests),
        *map(human_size, asked),
    )


def bars(name: str, rows: Sequence[Row]) -> str:
    """Return the bytes of a node over choices as bars."""
    known = [(choice, sizing) for choice, sizing in rows if not isinstance(sizing, str)]
    most = max((sizing.per_node for _, sizing in known), default=1)
    width = max((len(choice) for choice, _ in known), default=0)
    lines = [f"host memory of a node over {name}"]
    for choice, sizing in known:
        length = max(1, round(BAR * sizing.per_node / most))
        lines.append(f"{choice.rjust(width)} {'█' * length} {human_size(sizing.per_node)}")
    return "\n".join(lines) + "\n"


def numbers(found: Answer, name: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the numbers for programs (format version 1). Bytes, blocks, tokens and requests."""
    geometry, layout = found.sizing.geometry, found.sizing.layout
    return {
        "format_version": 1,
        "model": str(found.node.model.value) if found.node.model else None,
        "target": str(found.target),
        "block_tokens": geometry.block_tokens,
        "block_bytes": geometry.block_bytes,
        "exact": geometry.exact,
        "note": geometry.note,
        "ranks_per_engine": layout.world,
        "engines_on_node": layout.engines,
        "nodes": layout.nodes,
        "ring_bytes": layout.rings,
        **_numbers(found.sizing),
        "profile": proposal(found),
        "over": name,
        "choices": [
            {"choice": choice, "error": sizing} if isinstance(sizing, str) else {"choice": choice, **_numbers(sizing)}
            for choice, sizing in rows
        ],
    }


def _numbers(sizing: Sizing) -> dict[str, int]:
    return {
        "request_tokens": sizing.tokens,
        "blocks_per_request": sizing.blocks_per_request,
        "per_rank_bytes": sizing.per_rank,
        "per_engine_bytes": sizing.per_engine,
        "per_node_bytes": sizing.per_node,
        "blocks": sizing.blocks,
        "requests": sizing.requests,
        "tokens": sizing.tokens_fit,
        "shm_bytes": sizing.shm,
        "pod_memory_bytes": sizing.pod_memory,
    }
