"""From what was seen of every engine to the contract's report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from pd_launch.launcher.status.change import change
from pd_launch.launcher.status.compare import Expected, differences
from pd_launch.launcher.status.judge import (
    counts,
    counts_of,
    judge,
    left_out,
    now,
    role_by_series,
    spreads,
    stalled,
    stores,
    transfer_troubles,
    transfers,
    waits_long,
)
from pd_launch.launcher.status.look import Seen
from pd_launch.launcher.status.page import Reading
from pd_launch.launcher.verdicts.table import VERDICTS, Severity, Status, Trouble, over_all, problem_of
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.logs import Verdict
from pd_launch.schemas.status import EngineStatus, Rank, StatusReport

_GRAVE: tuple[Severity, ...] = ("error", "warning", "info")


@dataclass
class Before:
    """What is known of earlier looks, by address."""

    time: float | None = None
    readings: dict[str, Reading] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    """The last one of each engine, also of one that does not answer now."""
    moved: dict[str, float] = field(default_factory=dict)
    """When each engine was last seen to have made a token, or to have nothing to do."""

    def take(self, seen: Sequence[Seen], clock: float, found: StatusReport) -> None:
        """Take in a look that was reported."""
        self.time = clock
        for one, engine in zip(seen, found.engines, strict=True):
            if one.reading is None:
                continue
            last, standing = engine.last, engine.now
            busy = standing is not None and (standing.running or standing.waiting)
            made = last is None or engine.restarted or last.generated_tokens or last.prompt_tokens
            if made or not busy:
                self.moved[engine.url] = clock
            self.readings[engine.url], self.times[engine.url] = one.reading, clock


def report(
    seen: Sequence[Seen],
    clock: float,
    before: Before,
    expected: Mapping[str, Expected],
    profile: str | None,
    lang: str,
) -> StatusReport:
    """Return what one look says.

    Args:
        seen: the engines.
        clock: Unix time of the look.
        before: earlier looks.
        expected: what the profile says, by address.
        profile: its name.
        lang: the language of texts.
    """
    seconds = None if before.time is None or clock <= before.time else round(clock - before.time, 3)
    engines = [_engine(one, clock, before, seconds, expected.get(one.address.shown), lang) for one in seen]
    verdicts: set[Verdict] = {engine.verdict for engine in engines if engine.verdict is not None}
    verdict = "not_an_engine" if "not_an_engine" in verdicts else over_all(verdicts) if verdicts else None
    statuses = [engine.status for engine in engines]
    status: Status = 2 if 2 in statuses or not statuses else 1 if 1 in statuses else 0
    return StatusReport(
        verdict=verdict, status=status, time=round(clock, 3), seconds=seconds, profile=profile, engines=engines
    )


def _engine(
    seen: Seen,
    clock: float,
    before: Before,
    seconds: float | None,
    expected: Expected | None,
    lang: str,
) -> EngineStatus:
    name = expected.name if expected else f"{seen.address.host}:{seen.address.port}"
    found = EngineStatus(url=seen.address.shown, name=name, answer="answers", version=seen.version, health=seen.health)
    if expected:
        found.role, found.role_from = expected.role, "profile"
    if seen.reading is None:
        return _unanswered(found, seen, lang)
    whole = seen.reading.whole
    found.totals, found.now, found.cache = counts_of(seen.reading), now(whole, clock), dict(seen.reading.cache)
    if len(seen.reading.ranks) > 1:
        ranks = sorted(seen.reading.ranks.items(), key=lambda item: (len(item[0]), item[0]))
        found.ranks = [Rank(rank=rank, totals=counts(one), now=now(one, clock)) for rank, one in ranks]
    found.transfers, found.stores = transfers(whole), stores(whole)
    found.latencies = spreads(whole.histograms, last=False)
    if not expected and (role := role_by_series(whole)) != "unknown":
        found.role, found.role_from = role, "series"
    troubles = _between(found, seen.reading, before, clock) if seconds is not None else []
    verdict, reason, more = judge(found.totals, found.now, expected.offload if expected else None)
    if "parked" in seen.reading.odd and found.totals.parked is None:  # the connector is there all the same
        verdict, more = None, []
        reason = Msg("what the offload did cannot be read", "读不出卸载做了什么")
    troubles = [*more, *left_out(seen.reading), *transfer_troubles(found.transfers), *waits_long(found.now), *troubles]
    if seen.health is False:
        reason = Msg("its /health says that it is not healthy", "其 /health 表示引擎不健康")
        verdict = "errors"
        troubles.insert(0, Trouble("", "error", reason, Msg("see its log: pd-launch logs", "见其日志：pd-launch logs")))
    found.differences = differences(expected, found) if expected else []
    found.verdict, found.reason = verdict, reason.text(lang)
    found.status = VERDICTS[verdict].status if verdict else 0
    found.problems = [problem_of(t, lang) for t in sorted(troubles, key=lambda t: _GRAVE.index(t.severity))]
    return found


def _unanswered(found: EngineStatus, seen: Seen, lang: str) -> EngineStatus:
    found.error = seen.fault.text(lang)
    if seen.answer == "not_an_engine":
        found.answer, found.verdict, found.status = "not_an_engine", "not_an_engine", 2
    else:
        found.answer, found.status = "no_answer", 1
    return found


def _between(found: EngineStatus, reading: Reading, earlier: Before, clock: float) -> list[Trouble]:
    """Take in what happened since the look before, where there was one."""
    before = earlier.readings.get(found.url)
    if before is None or found.now is None:
        return []
    happened = change(before, reading)
    found.last, found.restarted = counts(happened.numbers), happened.restarted
    found.seconds = round(clock - earlier.times[found.url], 3)
    if found.totals is not None and found.totals.preempted is not None:
        counted = 0 if happened.restarted else counts_of(before).preempted or 0
        found.last.preempted = max(0, found.totals.preempted - counted)
    found.latencies = spreads(happened.numbers.histograms, last=True) or found.latencies
    if happened.restarted:
        text = Msg("it has restarted since the previous reading", "自上次读取以来引擎重新启动过")
        return [
            Trouble(
                "", "warning", text, Msg("its log says why it stopped: pd-launch logs", "原因见其日志：pd-launch logs")
            )
        ]
    made = found.last.generated_tokens or found.last.prompt_tokens
    return [] if made else stalled(found.now, clock - earlier.moved.get(found.url, clock))
