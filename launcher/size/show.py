"""The numbers for people: an explanation, a table over choices, bars, and the profile's own words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pd_launch.launcher.formats.text import yaml_text
from pd_launch.launcher.size.ask import Answer, proposal
from pd_launch.launcher.wording.nouns import Noun, seat
from pd_launch.launcher.wording.width import width
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import counted, human_size
from pd_launch.schemas.core.words import joined
from pd_launch.schemas.engine.budget import PER_RANK, TOTAL
from pd_launch.schemas.memory.sizing_numbers import Sizing

Row = tuple[str, "Sizing | Msg"]
"""A choice, and its numbers or why there are none."""
BAR = 40
_COLUMNS = (
    Msg("per engine", "每个引擎"),
    Msg("per node", "每个节点"),
    Msg("blocks", "块"),
    Msg("requests", "请求"),
    Msg("/dev/shm", "/dev/shm"),
    Msg("pod memory", "Pod 内存"),
)
_KINDS = {
    "full": Msg("full attention", "全注意力"),
    "window": Msg("a window", "滑动窗口"),
    "state": Msg("states", "状态"),
}
Line = tuple[Msg, Msg]
"""A label, and what is next to it."""


def explained(found: Answer, lang: str) -> str:
    """Return the numbers with how they come about."""
    sizing, on = found.sizing, seat(found.node)
    model = found.node.model.value if found.node.model else ""
    rows = [*_of_the_model(found, on), None, *_amounts(sizing, on)]
    width_ = max(width(row[0].text(lang)) for row in rows if row is not None)
    lines = [Msg(f"{model} for {found.target}", f"{model}，{found.target}").text(lang)]
    for row in rows:
        lines.append("" if row is None else f"  {_padded(row[0].text(lang), width_)}   {row[1].text(lang)}")
    if sizing.layout.null_blocks:
        never = Msg("one block of the built-in connector's pool never holds anything", "内置连接器有一块永远不用")
        lines.append(f"  {never.text(lang)}")
    if sizing.geometry.note:
        note = Msg("note", "说明").text(lang)
        lines.append(f"  {_padded(note, width_)}   {sizing.geometry.note.text(lang)}")
    return "\n".join([*lines, "", *(said.text(lang) for said in _divisions(sizing, on))]) + "\n"


def _padded(text: str, columns: int) -> str:
    return text + " " * (columns - width(text))


def _of_the_model(found: Answer, on: Noun) -> Iterator[Line]:
    """Say what a block and a request are."""
    sizing, geometry = found.sizing, found.sizing.geometry
    block = human_size(geometry.block_bytes)
    about, about_zh = ("", "") if geometry.exact else (" (estimate)", "（估算）")
    yield (
        Msg("a block", "每块"),
        Msg(
            f"{counted(geometry.block_tokens, 'token')}, {block} on each {on.en}{about}",
            f"{geometry.block_tokens} 个 token，{on.each_zh} {block}{about_zh}",
        ),
    )
    layout = geometry.layout
    if layout is not None and len(layout.groups) > 1:
        kinds = [
            Msg(
                f"{len(group.pages)} layers with {_KINDS[group.kind].en}",
                f"{len(group.pages)} 层{_KINDS[group.kind].zh}",
            )
            for group in layout.groups
        ]
        yield (
            Msg("groups", "缓存组"),
            Msg(
                f"{len(kinds)}, each with its own blocks: {', '.join(kind.en for kind in kinds)}",
                f"{len(kinds)} 个，各用自己的块：{'、'.join(kind.zh for kind in kinds)}",
            ),
        )
    yield (
        Msg("a request", "每个请求"),
        Msg(
            f"{counted(sizing.tokens, 'token')}, {counted(sizing.blocks_per_request, 'block')}",
            f"{sizing.tokens} 个 token，{sizing.blocks_per_request} 块",
        ),
    )


def _amounts(sizing: Sizing, on: Noun) -> Iterator[Line]:
    """Say how much there is of what, and where."""
    layout = sizing.layout
    budget = human_size(sizing.per_rank)
    yield (
        Msg(f"per {on.en}", on.each_zh),
        Msg(f"{budget} = {counted(sizing.blocks, 'block')}", f"{budget} = {sizing.blocks} 块"),
    )
    whole = human_size(sizing.per_engine)
    yield (
        Msg("per engine", "每个引擎"),
        Msg(
            f"{whole} on {counted(layout.world, on.en)} ({layout.worlds})",
            f"{whole}，共 {layout.world} {on.zh}（{layout.worlds}）",
        ),
    )
    yield Msg("per node", "每个节点"), _per_node(sizing)
    yield (
        Msg("holds", "可暂存"),
        Msg(
            f"{sizing.requests} such requests at once on each engine, or {counted(sizing.tokens_fit, 'token')}",
            f"每个引擎同时 {sizing.requests} 个这样的请求，或 {sizing.tokens_fit} 个 token",
        ),
    )
    yield Msg("/dev/shm", "/dev/shm"), _shared_memory(sizing)
    memory = human_size(sizing.pod_memory)
    yield (
        Msg("pod memory", "Pod 内存"),
        Msg(
            f"{memory}, with 8 GiB allowed for each rank's own process",
            f"{memory}，其中为每个 rank 自己的进程预留 8 GiB",
        ),
    )


def _per_node(sizing: Sizing) -> Msg:
    layout, size = sizing.layout, human_size(sizing.per_node)
    said = Msg(f"{size} on {counted(layout.engines, 'engine')}", f"{size}，共 {layout.engines} 个引擎")
    if layout.nodes < 2:
        return said
    total = human_size(sizing.per_node * layout.nodes)
    return joined([said, Msg(f"{layout.nodes} nodes: {total}", f"{layout.nodes} 个节点共 {total}")])


def _shared_memory(sizing: Sizing) -> Msg:
    layout, size, rings = sizing.layout, human_size(sizing.shm), human_size(sizing.layout.rings)
    said = Msg(f"{rings} for vLLM's messages", f"其中 vLLM 的消息占 {rings}")
    if layout.ascend:
        budget = human_size(sizing.per_node)
        said = joined(
            [said, Msg(f"the guides ask for the budget of {budget} as well", f"上游指南要求再加上预算 {budget}")]
        )
    return Msg(f"{size} ({said.en})", f"{size}（{said.zh}）")


def _divisions(sizing: Sizing, on: Noun) -> Iterator[Msg]:
    """Say what cpu_bytes_to_use would be, and which divisions are wrong."""
    layout, total = sizing.layout, sizing.per_engine
    yield Msg(
        f"As {TOTAL} the same would be {total}: it is divided by the ranks of one engine, "
        f"{layout.worlds} = {layout.world}, and every engine has its own.",
        f"若写 {TOTAL}，同样的预算是 {total}：它会除以一个引擎的 rank 数（{layout.worlds} = {layout.world}），"
        "每个引擎各有一份。",
    )
    if layout.data > 1:
        wrong, right = human_size(total // layout.data), human_size(sizing.per_rank)
        yield Msg(
            f"The guides divide it by DP {layout.data}, which would give {wrong} for a {on.en}; the code gives "
            f"{right}. Write per_rank, which nothing divides.",
            f"上游指南让它除以 DP {layout.data}，那样{on.each_zh} 会是 {wrong}；代码实际给出 {right}。"
            "请写 per_rank，它不会被任何数除。",
        )


def fragment(found: Answer) -> str:
    """Return what to write into a profile."""
    return yaml_text(proposal(found))


def in_options(found: Answer, lang: str) -> str:
    """Return what to write into launches that are no profile."""
    sizing = found.sizing
    where = Msg(
        "In the options of the offload connector (kv_connector_extra_config):",
        "写入卸载连接器的选项（kv_connector_extra_config）：",
    )
    shm, memory = human_size(sizing.shm), human_size(sizing.pod_memory)
    needs = Msg(
        f"The container needs {shm} of /dev/shm and {memory} of memory.",
        f"容器需要 {shm} 的 /dev/shm 和 {memory} 内存。",
    )
    return f'{where.text(lang)}\n\n"{PER_RANK}": {sizing.per_rank}\n\n{needs.text(lang)}\n'


def table(name: str, rows: Sequence[Row], on: Noun, lang: str) -> str:
    """Return a table over choices; ``on`` is what holds a rank, such as a card."""
    head = (Msg(f"per {on.en}", on.each_zh), *_COLUMNS)
    cells: list[tuple[str, ...]] = [(name, *(column.text(lang) for column in head))]
    for choice, sizing in rows:
        if isinstance(sizing, Msg):
            cells.append((choice, sizing.text(lang), *("",) * (len(head) - 1)))
        else:
            cells.append((choice, *_cells(sizing)))
    fitting = [row for row in cells if row[2]]
    widths = [max(width(row[i]) for row in fitting) for i in range(len(head) + 1)]
    widths[0] = max(width(row[0]) for row in cells)
    return "".join(_line(row, widths) for row in cells)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    """Return a line of a table, each cell to the right of its column."""
    parts = (" " * (columns - width(cell)) + cell for cell, columns in zip(row, widths, strict=True))
    return "  ".join(parts).rstrip() + "\n"


def _cells(sizing: Sizing) -> tuple[str, ...]:
    sizes = (sizing.per_rank, sizing.per_engine, sizing.per_node)
    asked = (sizing.shm, sizing.pod_memory)
    return (
        *map(human_size, sizes),
        str(sizing.blocks),
        str(sizing.requests),
        *map(human_size, asked),
    )


def bars(name: str, rows: Sequence[Row], lang: str) -> str:
    """Return the bytes of a node over choices as bars."""
    known = [(choice, sizing) for choice, sizing in rows if not isinstance(sizing, Msg)]
    most = max((sizing.per_node for _, sizing in known), default=1)
    width = max((len(choice) for choice, _ in known), default=0)
    lines = [Msg(f"host memory of a node over {name}", f"每个节点的主机内存，按 {name}").text(lang)]
    for choice, sizing in known:
        length = max(1, round(BAR * sizing.per_node / most))
        lines.append(f"{choice.rjust(width)} {'█' * length} {human_size(sizing.per_node)}")
    return "\n".join(lines) + "\n"


def numbers(found: Answer, name: str, rows: Sequence[Row], lang: str) -> dict[str, Any]:
    """Return the numbers for programs (format version 1). Bytes, blocks, tokens and requests."""
    geometry, layout = found.sizing.geometry, found.sizing.layout
    return {
        "format_version": 1,
        "model": str(found.node.model.value) if found.node.model else None,
        "target": str(found.target),
        "block_tokens": geometry.block_tokens,
        "block_bytes": geometry.block_bytes,
        "exact": geometry.exact,
        "note": geometry.note.text(lang),
        "ranks_per_engine": layout.world,
        "engines_on_node": layout.engines,
        "nodes": layout.nodes,
        "ring_bytes": layout.rings,
        **_numbers(found.sizing),
        "profile": proposal(found),
        "over": name,
        "choices": [
            {"choice": choice, "error": sizing.text(lang)}
            if isinstance(sizing, Msg)
            else {"choice": choice, **_numbers(sizing)}
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
