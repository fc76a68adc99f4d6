"""From the numbers of an engine to what is said of it: counts, verdict, what to change."""

from __future__ import annotations

from collections.abc import Mapping

from pd_launch.launcher.status.page import Histogram, Numbers, Reading
from pd_launch.launcher.verdicts.counts import IDLE, Tally, fallback_troubles, of_counts
from pd_launch.launcher.verdicts.table import Trouble
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.core.words import listed
from pd_launch.schemas.logs import Verdict
from pd_launch.schemas.offload.reasons import REASONS, of_kind
from pd_launch.schemas.releases.series import STORES, TRANSFERS
from pd_launch.schemas.status import Counts, Now, Role, Spread, Store, Transfer

LATENCIES = ("ttft", "itl", "queue", "e2e")
SOURCE = "prompt_tokens_from/external_kv_transfer"


def counts(numbers: Numbers) -> Counts:
    """Return what was counted, as the contract has it."""
    told = _whole(numbers.labelled("fallback"))
    fallbacks = {reason: n for reason, n in told.items() if reason not in REASONS or not REASONS[reason].wanted}
    parked = _count(numbers, "parked")
    preempted = _count(numbers, "preempted")
    if parked is not None:
        # vLLM counts a preemption when its request speaks again, the connector at once.
        preempted = max(preempted or 0, parked + round(of_kind("unsaved", told)))
    return Counts(
        preempted=preempted,
        parked=parked,
        restored=_count(numbers, "restored"),
        fallbacks=fallbacks,
        unneeded={reason: n for reason, n in told.items() if reason not in fallbacks},
        saved_bytes=_count(numbers, "saved_bytes"),
        restored_bytes=_count(numbers, "restored_bytes"),
        prompt_tokens=_count(numbers, "prompt_tokens"),
        generated_tokens=_count(numbers, "generation_tokens"),
        finished=_whole(numbers.labelled("finished")),
    )


def counts_of(reading: Reading) -> Counts:
    """Return what all ranks of an engine counted; preemptions are added up as each rank's are taken."""
    found = counts(reading.whole)
    each = [counts(rank).preempted for rank in reading.ranks.values()]
    found.preempted = sum(n for n in each if n is not None) if any(n is not None for n in each) else None
    return found


def now(numbers: Numbers, clock: float) -> Now:
    """Return what holds at the reading; ``clock`` is its Unix time."""
    blocks = _count(numbers, "pool_total") or None  # 0 until the first step tells it
    age, since = numbers.get("oldest_parked"), numbers.get("oldest_since")
    if since and age:
        age = max(age, min(clock - since, 1e9))  # the page of several API servers tells the age of the last step
    return Now(
        running=_count(numbers, "running"),
        waiting=_count(numbers, "waiting"),
        kv_usage=numbers.get("kv_usage"),
        pool_used=_count(numbers, "pool_used") if blocks else None,
        pool_total=blocks,
        oldest_parked_seconds=None if age is None else round(age, 3),
        parked=_still_parked(numbers),
    )


def _still_parked(numbers: Numbers) -> int | None:
    parked, restored = numbers.get("parked"), numbers.get("restored")
    if parked is None or restored is None:
        return None
    told = numbers.labelled("fallback")
    return max(0, round(parked - restored - of_kind("lost", told) - of_kind("unneeded", told)))


def transfers(numbers: Numbers) -> list[Transfer]:
    """Return what each connector moved, of those whose series are there."""
    found = []
    for start, name in TRANSFERS.items():
        keys = [k for k in (*numbers.values, *numbers.histograms) if k.startswith(f"{start}.")]
        if not keys:
            continue
        time, size = numbers.histograms.get(f"{start}.time"), numbers.histograms.get(f"{start}.bytes")
        done = _count(numbers, f"{start}.done") if time is None else round(time.count)
        moved = _count(numbers, f"{start}.bytes") if size is None else round(size.total)
        found.append(
            Transfer(
                name=name,
                done=done,
                bytes=moved,
                failed=_sum(numbers, f"{start}.failed", f"{start}.receives_failed", f"{start}.saves_failed"),
                expired=_sum(numbers, f"{start}.expired"),
                p50_seconds=time.quantile(0.5) if time else None,
                p99_seconds=time.quantile(0.99) if time else None,
            )
        )
    return found


def stores(numbers: Numbers) -> list[Store]:
    """Return what other offload connectors say, of those that do."""
    found = []
    for start, name in STORES.items():
        values = {key[len(start) + 1 :]: value for key, value in numbers.values.items() if key.startswith(f"{start}.")}
        if values:
            found.append(Store(name=name, values=values))
    return found


def spreads(histograms: Mapping[str, Histogram], last: bool) -> dict[str, Spread]:
    """Return the latencies of which anything was observed."""
    return {
        key: Spread(count=round(h.count), p50=h.quantile(0.5), p99=h.quantile(0.99), since="last" if last else "start")
        for key, h in histograms.items()
        if key in LATENCIES and h.count >= 1
    }


def role_by_series(numbers: Numbers) -> Role:
    """Return which side of a pair an engine is, as far as its own numbers show it."""
    if numbers.has("parked") or numbers.get(SOURCE) or numbers.get("external_hits"):
        return "decode"
    output = numbers.histograms.get("request_output")
    if transfers(numbers) and output is not None and output.count >= 1 and output.total == output.count:
        return "prefill"  # one token each: the first, which the decode node computes again
    return "unknown"


def judge(found: Counts, standing: Now, expected: str | None) -> tuple[Verdict | None, Msg, list[Trouble]]:
    """Return the verdict on an engine that answers, why, and what is wrong.

    Args:
        found: its counts since the start.
        standing: what holds now.
        expected: the offload that the profile gives this engine: bundled, builtin, or None where nobody says.
    """
    troubles = _errors(found)
    if found.parked is None:
        verdict, reason, more = _without(found, expected)
        return ("errors" if troubles and verdict else verdict), reason, [*troubles, *more]
    lost = fallback_troubles(found.fallbacks)
    if troubles:
        ended = found.finished.get("error", 0)
        reason = Msg(f"{counted(ended, 'request')} ended with an error", f"{ended} 个请求以错误结束")
        return "errors", reason, [*troubles, *lost]
    heard = found.parked + sum(found.fallbacks.values()) + found.unneeded.get("reset_running", 0)
    if found.preempted and not heard:
        return "inactive", *_silent(found.preempted)
    wanted = found.unneeded.get("reset_running", 0)
    tally = Tally(
        max(0, (found.preempted or 0) - wanted),
        found.parked,
        found.restored or 0,
        found.fallbacks,
        standing.parked or 0,
    )
    still = Msg(f"; {standing.parked} parked now", f"；目前暂存 {standing.parked} 个")
    verdict, reason = of_counts(tally, IDLE, still)
    return verdict, reason, lost


def _errors(found: Counts) -> list[Trouble]:
    ended = found.finished.get("error", 0)
    if not ended:
        return []
    return [
        Trouble(
            "",
            "error",
            Msg(f"{counted(ended, 'request')} ended with an error", f"{ended} 个请求以错误结束"),
            Msg("its log says why: pd-launch logs", "原因见其日志：pd-launch logs"),
            0,
            ended,
        )
    ]


def _silent(preempted: int) -> tuple[Msg, list[Trouble]]:
    reason = Msg(
        f"the engine preempted {counted(preempted, 'request')}, but its connector was not notified of any",
        f"引擎抢占了 {preempted} 个请求，而连接器一个也没有收到",
    )
    help_ = Msg("its log says why: pd-launch logs", "原因见其日志：pd-launch logs")
    return reason, [Trouble("PD109", "error", reason, help_)]


def _without(found: Counts, expected: str | None) -> tuple[Verdict | None, Msg, list[Trouble]]:
    """Say of an engine without the bundled connector's series what is known all the same."""
    if expected == "bundled":
        reason = Msg(
            (
                "the profile gives this engine the offload connector, and its /metrics has none of that connector's "
                "metrics"
            ),
            "配置文件为该引擎配置了卸载连接器，但其 /metrics 中没有该连接器的任何指标",
        )
        help_ = Msg(
            (
                "it was started differently, or without statistics (--disable-log-stats): compare pd-launch decode "
                "--dry-run"
            ),
            "它是用别的方式启动的，或者关闭了统计（--disable-log-stats）：与 pd-launch decode --dry-run 对比",
        )
        return "inactive", reason, [Trouble("PD109", "error", reason, help_)]
    if expected == "builtin":
        note = Msg(
            "vllm-ascend's own offload connector exports no metrics: only the log shows what it does",
            "vllm-ascend 内置的卸载连接器不导出指标：它的情况只能看日志",
        )
        return None, note, [Trouble("", "info", note, Msg("pd-launch logs", "pd-launch logs"))]
    reason = Msg("no visible offload connector", "没有可见的卸载连接器")
    if not found.preempted:
        return None, reason, []
    note = Msg(
        f"{counted(found.preempted, 'preemption')} without an offload connector: each recomputes its request",
        f"{found.preempted} 次抢占，但没有卸载连接器：每次都要重新计算请求",
    )
    help_ = Msg(
        "pd-launch size says what keeping them costs; where vllm-ascend's own connector runs, see pd-launch logs",
        "pd-launch size 说明保留它们需要多少内存；如果用的是 vllm-ascend 内置的连接器，见 pd-launch logs",
    )
    return None, reason, [Trouble("", "info", note, help_)]


def transfer_troubles(found: list[Transfer]) -> list[Trouble]:
    """Return what went wrong between the nodes."""
    out = []
    for one in found:
        if one.failed:
            text = Msg(f"{one.name}: {counted(one.failed, 'transfer')} failed", f"{one.name}：{one.failed} 次传输失败")
            help_ = Msg(
                "see the worker's lines about it in both logs, and the network between the nodes",
                "查看两侧日志中 worker 的相关行，以及节点之间的网络",
            )
            out.append(Trouble("", "warning", text, help_, 0, one.failed))
        if one.expired:
            text = Msg(
                f"{one.name}: the KV of {counted(one.expired, 'request')} expired before the decode node fetched it",
                f"{one.name}：{one.expired} 个请求的 KV 在解码节点取走之前已过期",
            )
            help_ = Msg("let the prefill node keep its KV longer", "让预填充节点的 KV 保留更久")
            out.append(Trouble("PD708", "warning", text, help_, 0, one.expired))
    return out


def waits_long(standing: Now) -> list[Trouble]:
    """Return whether a parked request waits longer than docs/alerts.yaml lets it."""
    age = standing.oldest_parked_seconds or 0
    if age <= LONG_SECONDS:
        return []
    text = Msg(f"a request has been parked for {age:.0f} s", f"有请求已暂存 {age:.0f} 秒")
    help_ = Msg(
        "the engine has more requests than KV cache: lower max-num-seqs, or add decode capacity",
        "请求超出了引擎的 KV 缓存：减小 max-num-seqs，或增加解码能力",
    )
    return [Trouble("", "warning", text, help_)]


def left_out(reading: Reading) -> list[Trouble]:
    """Say of which series a value is none that an engine can have: what depends on it is not known."""
    if not reading.odd:
        return []
    names = listed(sorted(reading.odd.values()), "and")
    text = Msg(
        f"left out, as its value is negative, too large or no number: {names.en}",
        f"未计入，因为引擎不会有这样的数值（非数字、负数或过大）：{names.zh}",
    )
    help_ = Msg(
        "read its /metrics: something between here and the engine may change it",
        "请查看它的 /metrics：可能有中间环节改动了内容",
    )
    return [Trouble("", "warning", text, help_)]


def stalled(standing: Now, still: float) -> list[Trouble]:
    """Return whether an engine with work has done none for ``still`` seconds; a long prompt takes a while, too."""
    if not (standing.running or standing.waiting) or still < STALL_SECONDS:
        return []
    running, waiting = standing.running or 0, standing.waiting or 0
    text = Msg(
        f"{running} running and {waiting} waiting requests, and not one token in {still:.0f} s",
        f"有 {running} 个运行中、{waiting} 个等待的请求，{still:.0f} 秒内没有产生 token",
    )
    help_ = Msg(
        "it is paused, or hangs: see the end of its log, and what its processes wait for",
        "引擎被暂停或已挂起：查看日志末尾及其进程在等待什么",
    )
    return [Trouble("", "warning", text, help_)]


STALL_SECONDS, LONG_SECONDS = 20.0, 120.0


def _count(numbers: Numbers, key: str) -> int | None:
    value = numbers.get(key)
    return None if value is None else round(value)


def _sum(numbers: Numbers, *keys: str) -> int | None:
    found = [value for key in keys if (value := numbers.get(key)) is not None]
    return round(sum(found)) if found else None


def _whole(values: Mapping[str, float]) -> dict[str, int]:
    return {name: round(value) for name, value in sorted(values.items()) if round(value)}
