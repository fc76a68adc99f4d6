"""From what was gathered to the contract's form: texts in one language, secrets masked, numbers bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pd_launch.launcher.logs.collect import Collector, EngineFacts
from pd_launch.launcher.logs.story import Story
from pd_launch.launcher.logs.verdict import judge
from pd_launch.launcher.secrets.masking import mask_lines
from pd_launch.launcher.verdicts.table import VERDICTS, over_all, problem_of
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.logs import (
    ConnectorReport,
    CountsReport,
    EngineReport,
    LogsReport,
    MomentReport,
    RecomputedReport,
    RequestReport,
    SchedulerReport,
)

NO_LOG = Msg("it contains no log lines of a vLLM engine", "其中没有 vLLM 引擎的日志")


def file_reports(file: str, log: Collector, lang: str, requests: bool, wanted: str = "") -> list[EngineReport]:
    """Return one report for each engine of a file; ``requests`` adds their timelines, ``wanted`` those of one id."""
    if not log.is_engine_log:
        return [EngineReport(file=file, stream="", verdict="not_an_engine", status=2, reason=NO_LOG.text(lang))]
    engines = log.engines or [EngineFacts()]
    telling = [e for e in engines if e.args or e.engine or e.book.stories or e.connector.sides or e.notices]
    return [_report(file, engine, lang, requests, wanted) for engine in telling or engines]


def whole(reports: Sequence[EngineReport]) -> LogsReport:
    """Return the verdict over all engines. A prefill engine counts only where there is no other."""
    engines = [r for r in reports if r.verdict != "not_an_engine"]
    counted = [r for r in engines if r.role != "kv_producer" or r.verdict == "errors"] or engines
    foreign = len(reports) - len(engines)
    verdict = "not_an_engine" if foreign else over_all({r.verdict for r in counted})
    status = VERDICTS["not_an_engine"].status if foreign or not counted else max(r.status for r in counted)
    return LogsReport(verdict=verdict, status=status, engines=list(reports))


def _report(file: str, engine: EngineFacts, lang: str, requests: bool, wanted: str) -> EngineReport:
    judgement = judge(engine)
    stories = [s for s in engine.book.stories.values() if wanted in s.id] if requests or wanted else []
    return EngineReport(
        file=file,
        stream=engine.stream,
        verdict=judgement.verdict,
        status=judgement.status,
        reason=judgement.reason.text(lang),
        vllm=engine.version,
        role=engine.role,
        ascend=engine.ascend,
        starts=engine.starts,
        first_line=engine.first_line,
        scheduler=SchedulerReport(
            name=engine.scheduler, recompute=engine.recompute_scheduler, switched_on=engine.switched_on
        ),
        connector=_connector(engine),
        counts=_counts(engine),
        recomputed=_recomputed(engine),
        problems=[problem_of(replace(t, text=masked(t.text)), lang) for t in judgement.troubles],
        benign=[problem_of(replace(t, text=masked(t.text)), lang) for t in judgement.benign],
        requests=[_request(story) for story in stories],
        requests_left_out=engine.book.forgotten if stories else 0,
    )


def _connector(engine: EngineFacts) -> ConnectorReport:
    found = engine.connector
    block = found.block_bytes
    if block is None and found.per_rank_bytes and found.blocks:
        block = found.per_rank_bytes // found.blocks
    exact = found.blocks * found.block_bytes if found.blocks and found.block_bytes else None
    return ConnectorReport(
        created=bool(found.sides) or found.used_most is not None,
        name=found.name or engine.configured,
        origin=None if found.bundled is None else "bundled" if found.bundled else "builtin",
        configured=engine.configured is not None,
        per_rank_bytes=exact if exact and (found.rounded or not found.per_rank_bytes) else found.per_rank_bytes,
        world_size=found.world_size,
        blocks=found.blocks,
        block_bytes=block,
        blocks_used_most=found.used_most,
    )


def _counts(engine: EngineFacts) -> CountsReport:
    totals = engine.book.totals
    failed = totals.fallbacks.get("save_failed", 0)
    return CountsReport(
        preempted=totals.preempted,
        parked=totals.parked,
        restored=totals.restored,
        fallbacks=dict(sorted(totals.fallbacks.items())),
        handed_back=totals.handed_back,
        aborted=totals.aborted,
        parked_now=max(0, totals.parked - totals.restored - failed),
        engine_preemptions=engine.preemptions,
    )


def _recomputed(engine: EngineFacts) -> RecomputedReport:
    totals, block = engine.book.totals, engine.tokens_per_block
    most = None
    if totals.unknown == totals.bounded and not totals.handed_back and (block or not totals.lost_blocks):
        most = totals.recomputed + totals.lost_tokens + totals.lost_blocks * (block or 0)
    return RecomputedReport(at_least=totals.recomputed, at_most=most, requests_unknown=totals.unknown)


def _request(story: Story) -> RequestReport:
    moments = [MomentReport(line=m.line, time=m.time, event=m.event, text=masked(m.text)) for m in story.moments]
    return RequestReport(
        id=story.id,
        preemptions=story.preemptions,
        restored=story.restored,
        fallbacks=story.fallbacks[:64],
        handed_back=story.handed_back,
        aborted=story.aborted,
        moments=moments,
    )


def masked(text: str) -> str:
    """Return a line of the log without the secrets that it shows."""
    return mask_lines(text)
