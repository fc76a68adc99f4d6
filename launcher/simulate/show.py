"""The answer for people: the verdict first, then what it rests on."""

from __future__ import annotations

from collections.abc import Sequence

from pd_launch.launcher.wording.width import width
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import counted, human_size
from pd_launch.schemas.simulation import ChoiceReport, OffloadReport, RunReport, Simulation

BAR = 40
BACK = 6
"""The table's column of requests that go back to a proxy, shown where there are any."""
NEEDLESS = ("superseded", "ended")
"""Copies that went because nothing needed them: no room was lacking."""


def page(found: Simulation, lang: str, plot: bool = False) -> str:
    """Return the answer as a page."""
    parts = [_input(found), _verdict(found), _table(found, lang), _instead(found), _times(found)]
    if found.choices:
        parts.append(_bars(found, lang) if plot else _over(found, lang))
    parts.append(_footnotes(found))
    lines = [line.text(lang) if isinstance(line, Msg) else line for part in parts for line in part]
    return "\n".join(lines).rstrip() + "\n"


Lines = list["Msg | str"]


def _input(found: Simulation) -> Lines:
    work, engine = found.workload, found.engine
    many = f" × {engine.data_parallel}" if engine.data_parallel > 1 else ""
    return [
        Msg(
            f"{work.what}: {work.prompt_tokens:,} + {counted(work.output_tokens, 'token', ',')}"
            + (f", {counted(work.concurrency, 'client')}" if work.concurrency else ""),
            f"{work.what}：共 {work.prompt_tokens:,} + {work.output_tokens:,} 个 token"
            + (f"，{work.concurrency} 个并发客户端" if work.concurrency else ""),
        ),
        Msg(
            f"{found.target}{many}: {counted(engine.blocks, 'block', ',')} of {counted(engine.block_size, 'token')}, "
            f"at most {counted(engine.max_num_seqs, 'sequence')} and "
            f"{counted(engine.max_num_batched_tokens, 'token', ',')} a step, prefix caching "
            f"{'on' if engine.prefix_caching else 'off'}"
            + (f", {counted(engine.draft_tokens, 'draft')}" if engine.draft_tokens else ""),
            f"{found.target}{many}：{engine.blocks:,} 块，每块 {engine.block_size} 个 token；每步最多 "
            f"{engine.max_num_seqs} 个序列、{engine.max_num_batched_tokens:,} 个 token；前缀缓存"
            f"{'开启' if engine.prefix_caching else '关闭'}"
            + (f"；每步草稿 {engine.draft_tokens} 个" if engine.draft_tokens else ""),
        ),
        "",
    ]


def _verdict(found: Simulation) -> Lines:
    alone = found.without
    lines: Lines = []
    if not found.complete:
        lines.append(
            Msg(
                f"Interrupted after {counted(alone.steps, 'step', ',')}, with {alone.finished:,} of "
                f"{counted(found.workload.requests, 'request', ',')} answered: the following is the result so far.",
                f"已中断：推演了 {alone.steps:,} 步，{found.workload.requests:,} 个请求中有 {alone.finished:,} 个"
                "得到回答。以下是到目前为止的结果。",
            )
        )
    if not alone.preempted and not found.complete and alone.finished < found.workload.requests:
        return [*lines, Msg("No preemption so far.", "到目前为止没有抢占。"), ""]
    if not alone.preempted:
        return [
            *lines,
            Msg(
                f"No preemption: at most {counted(alone.peak_running, 'request')} at once. The offload has "
                "nothing to do here.",
                f"不会抢占：最多 {alone.peak_running} 个请求同时运行，卸载用不上。",
            ),
            "",
        ]
    share = 100 * alone.recomputed / max(1, alone.tokens - alone.recomputed)
    lines.append(
        Msg(
            f"It preempts: {counted(alone.preempted, 'preemption', ',')} of "
            f"{counted(alone.preempted_requests, 'request', ',')} (of {found.workload.requests:,}).",
            f"会抢占：{alone.preempted_requests:,} 个请求（共 {found.workload.requests:,} 个）被抢占 "
            f"{alone.preempted:,} 次。",
        )
    )
    if alone.handed_back:
        lines.append(
            Msg(
                f"  without offload  {counted(alone.handed_back, 'request', ',')} handed back to the proxy; a prefill "
                f"node computes {counted(alone.handed_back_tokens, 'token', ',')} again",
                f"  不用卸载         {alone.handed_back:,} 个请求交还给代理，预填充节点重新计算 "
                f"{alone.handed_back_tokens:,} 个 token",
            )
        )
    if alone.recomputed or not alone.handed_back:
        lines.append(
            Msg(
                f"  without offload  {counted(alone.recomputed, 'token', ',')} computed again, {share:.1f} % on top of "
                "the work",
                f"  不用卸载         重新计算 {alone.recomputed:,} 个 token，相当于额外 {share:.1f} % 的计算",
            )
        )
    if found.least_budget_blocks is not None and found.with_:
        least = _amount(found.least_budget_blocks, found.least_budget_bytes)
        most = _amount(found.p99_budget_blocks or 0, found.p99_budget_bytes)
        again = found.with_[0].recomputed
        lines += [
            Msg(
                f"  with offload     {again:,}, from {least.en} of host memory per rank on: then nothing falls back",
                f"  使用卸载         重新计算 {again:,} 个；每个 rank 的主机内存不少于 {least.zh} 时没有回退",
            ),
            Msg(
                f"                   (99 of 100 preempted requests find room in {most.en})",
                f"                   （100 个被抢占的请求中有 99 个只需 {most.zh}）",
            ),
        ]
    return [*lines, ""]


def _amount(blocks: int, size: int | None) -> Msg:
    if size is None:
        return Msg(counted(blocks, "block", ","), f"{blocks:,} 块")
    return Msg(f"{human_size(size)} ({counted(blocks, 'block', ',')})", f"{human_size(size)}（{blocks:,} 块）")


def _table(found: Simulation, lang: str) -> Lines:
    if not found.without.preempted or not found.with_:
        return []
    heads = (
        Msg("budget per rank", "每 rank 预算"),
        Msg("preempted", "抢占"),
        Msg("parked", "暂存"),
        Msg("restored", "恢复"),
        Msg("computed again", "重算 token"),
        Msg("fell back", "回退"),
        Msg("handed back", "交还代理"),
        Msg("peak parked", "暂存峰值"),
        Msg("steps", "步数"),
    )
    rows = [tuple(head.text(lang) for head in heads), _cells(found.without, lang)]
    rows += [_cells(run, lang) for run in found.with_]
    if not any(run.handed_back for run in (found.without, *found.with_)):
        rows = [row[:BACK] + row[BACK + 1 :] for row in rows]
    return [*_aligned(rows), ""]


def _cells(run: RunReport, lang: str) -> tuple[str, ...]:
    if not isinstance(run, OffloadReport):
        none = Msg("none", "无").text(lang)
        back = f"{run.handed_back:,}"
        return none, f"{run.preempted:,}", "", "", f"{run.recomputed:,}", "", back, "", f"{run.steps:,}"
    return (
        _amount(run.budget_blocks, run.budget_bytes).text(lang),
        f"{run.preempted:,}",
        f"{run.parked:,}",
        f"{run.restored:,}",
        f"{run.recomputed:,}",
        f"{sum(n for reason, n in run.fallbacks.items() if reason not in NEEDLESS):,}",
        f"{run.handed_back:,}",
        _amount(run.peak_parked_blocks, run.peak_parked_bytes).text(lang),
        f"{run.steps:,}",
    )


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(width(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(" " * (most - width(cell)) + cell for cell, most in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _instead(found: Simulation) -> Lines:
    lines: Lines = []
    for other in found.instead:
        name, _, value = other.setting.partition("=")
        again = other.recomputed + other.handed_back_tokens
        more = 100 * (other.steps - found.without.steps) / max(1, found.without.steps)
        lines.append(
            Msg(
                f"  --{name} {value} instead: {counted(other.preempted, 'preemption', ',')}, "
                f"{counted(again, 'token', ',')} computed again, {counted(other.steps, 'step', ',')} ({more:+.1f} %)",
                f"  改为 --{name} {value}：抢占 {other.preempted:,} 次，重算 {again:,} 个 token，{other.steps:,} 步"
                f"（{more:+.1f} %）",
            )
        )
    return [*lines, ""] if lines else []


def _times(found: Simulation) -> Lines:
    runs = [(Msg("without offload", "不用卸载"), found.without)]
    runs += [
        (_amount(run.budget_blocks, run.budget_bytes), run) for run in (found.with_ if found.without.preempted else ())
    ]
    lines: Lines = []
    for name, run in runs:
        if run.time is None:
            continue
        ttft, itl = run.time.ttft, run.time.itl
        shown = f"{run.time.seconds:,.1f} s, {run.time.tokens_per_second:,.0f} tokens/s"
        shown_zh = f"{run.time.seconds:,.1f} 秒，{run.time.tokens_per_second:,.0f} token/s"
        if ttft:
            shown += f"; first token {ttft.p50:.2f} s (p99 {ttft.p99:.2f} s)"
            shown_zh += f"；首 token {ttft.p50:.2f} 秒（p99 {ttft.p99:.2f} 秒）"
        if itl:
            shown += f"; next ones {1000 * itl.p50:.1f} ms (p99 {1000 * itl.p99:.1f} ms)"
            shown_zh += f"；后续 token {1000 * itl.p50:.1f} 毫秒（p99 {1000 * itl.p99:.1f} 毫秒）"
        lines.append(Msg(f"  {name.en}: {shown}", f"  {name.zh}：{shown_zh}"))
    if not lines or found.step_time is None:
        return []
    known = found.step_time
    fit = (
        Msg("as given", "由参数给出")
        if known.missed is None
        else Msg(
            f"fitted from the log, {100 * known.missed:.0f} % off in the median",
            f"由日志拟合，中位误差 {100 * known.missed:.0f} %",
        )
    )
    head = Msg(
        f"Seconds, with steps of {1000 * known.base:.2f} ms + {1e6 * known.per_token:.2f} µs a token ({fit.en}):",
        f"时间，每步 {1000 * known.base:.2f} 毫秒 + 每 token {1e6 * known.per_token:.2f} 微秒（{fit.zh}）：",
    )
    return [head, *lines, ""]


def _over(found: Simulation, lang: str) -> Lines:
    heads = (
        Msg("preempted", "抢占"),
        Msg("computed again", "重算 token"),
        Msg("steps", "步数"),
        Msg("least budget", "最小预算"),
    )
    rows = [(found.over or "", *(head.text(lang) for head in heads))]
    for row in found.choices:
        rows.append((row.choice, *_choice_cells(row, lang)))
    return [*_aligned(rows), ""]


def _choice_cells(row: ChoiceReport, lang: str) -> tuple[str, ...]:
    if row.without is None:
        return row.error or "", "", "", ""
    least = _amount(row.least_budget_blocks or 0, row.least_budget_bytes).text(lang)
    return f"{row.without.preempted:,}", f"{row.without.recomputed:,}", f"{row.without.steps:,}", least


def _bars(found: Simulation, lang: str) -> Lines:
    known = [
        (row.choice, row.without.recomputed + row.without.handed_back_tokens)
        for row in found.choices
        if row.without is not None
    ]
    most = max((value for _, value in known), default=0) or 1
    wide = max((width(choice) for choice, _ in known), default=0)
    title = Msg(f"tokens computed again over {found.over}", f"{found.over} 不同取值下重算的 token 数")
    lines: Lines = [title]
    for choice, value in known:
        bar = "█" * (max(1, round(BAR * value / most)) if value else 0)
        lines.append(f"{' ' * (wide - width(choice))}{choice} {bar} {value:,}")
    return [*lines, ""]


def _footnotes(found: Simulation) -> Lines:
    lines: Lines = []
    if found.assumed:
        lines.append(Msg("Assumed: " + "; ".join(found.assumed), "假定：" + "；".join(found.assumed)))
    if found.not_modelled:
        lines.append(Msg("Not modelled: " + "; ".join(found.not_modelled), "未建模：" + "；".join(found.not_modelled)))
    return lines
