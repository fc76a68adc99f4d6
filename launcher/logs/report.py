"""The report of ``pd-launch logs`` for people: verdict first, then numbers, then what to change."""

from __future__ import annotations

from pd_launch.launcher.logs.story import TITLES
from pd_launch.launcher.verdicts.table import COLON, COLOURS, COMMA, SEMICOLON, VERDICTS
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.severity import SEVERITIES
from pd_launch.schemas.core.units import counted, human_size
from pd_launch.schemas.core.words import series
from pd_launch.schemas.logs import EngineReport, LogsReport, Problem, Verdict

_LABELS = {
    "engine": Msg("engine", "引擎"),
    "scheduler": Msg("scheduler", "调度器"),
    "connector": Msg("connector", "连接器"),
    "preempted": Msg("preempted", "被抢占"),
    "recomputed": Msg("recomputed", "重新计算"),
    "help": Msg("help", "建议"),
    "benign": Msg("harmless", "无影响"),
}


class LogsText:
    """Renders reports in one language, with colours where wanted."""

    def __init__(self, lang: str, colour: bool) -> None:
        self.lang = lang
        self.colour = colour

    def render(self, report: LogsReport) -> str:
        """Return the whole report."""
        many = len({(e.file, e.stream) for e in report.engines}) > 1
        parts = ["\n".join(self._engine(engine, many)) for engine in report.engines]
        if many:
            head = self._verdict(report.verdict)
            count = len(report.engines)
            parts.append(self._say(Msg(f"{head}: {count} engines in all", f"{head}：共 {count} 个引擎")))
        return "\n\n".join(parts) + "\n"

    def _engine(self, engine: EngineReport, many: bool) -> list[str]:
        name = f"{clean(engine.file)}{f' [{clean(engine.stream)}]' if engine.stream else ''}"
        verdict = self._verdict(engine.verdict)
        lines = [self._say(COLON).join((name, verdict, clean(engine.reason)))]
        if engine.verdict == "not_an_engine":
            return lines
        lines += [f"  {self._label(key)}{text}" for key, text in self._facts(engine) if text]
        lines += [line for problem in engine.problems for line in self._problem(problem)]
        if engine.benign:
            lines.append(f"  {self._label('benign')}{self._benign(engine)}")
        return lines + self._timelines(engine)

    def _facts(self, engine: EngineReport) -> list[tuple[str, str]]:
        return [
            ("engine", self._about(engine)),
            ("scheduler", self._scheduler(engine)),
            ("connector", self._connector(engine)),
            ("preempted", self._preempted(engine)),
            ("recomputed", self._recomputed(engine)),
        ]

    def _about(self, engine: EngineReport) -> str:
        parts = [f"vLLM {clean(engine.vllm)}" if engine.vllm else ""]
        parts.append("vllm-ascend" if engine.ascend else "")
        parts.append(engine.role or "")
        if engine.starts > 1:
            parts.append(
                self._say(
                    Msg(
                        f"{engine.starts} starts in this log; this is the last, from line {engine.first_line}",
                        f"日志中有 {engine.starts} 次启动；此处为最后一次，始于第 {engine.first_line} 行",
                    )
                )
            )
        return self._say(COMMA).join(part for part in parts if part)

    def _scheduler(self, engine: EngineReport) -> str:
        found = engine.scheduler
        if found is None or (found.name is None and not engine.vllm):
            return ""
        if found.name is None:
            return self._say(Msg("vLLM's own", "vLLM 的调度器"))
        own = self._say(Msg("the recompute scheduler", "重计算调度器")) if found.recompute else ""
        return clean(found.name) + (self._say(Msg(f" ({own})", f"（{own}）")) if own else "")

    def _connector(self, engine: EngineReport) -> str:
        found = engine.connector
        if found is None or (not found.created and not found.configured):
            if engine.vllm is None and not engine.ascend:
                return self._say(Msg("unknown: the engine's start is not in the log", "未知：日志中没有引擎的启动部分"))
            return self._say(Msg("none", "无"))
        origin = {"bundled": "pd-launch", "builtin": "vllm-ascend"}.get(found.origin or "", "")
        parts = [f"{clean(found.name or '?')}{f' ({origin})' if origin else ''}"]
        if not found.created:
            parts.append(self._say(Msg("configured, but not created", "已配置，但未创建")))
        if found.per_rank_bytes:
            parts.append(
                self._say(
                    Msg(f"{human_size(found.per_rank_bytes)} per rank", f"每个 rank {human_size(found.per_rank_bytes)}")
                )
            )
        if found.blocks is not None:
            size = (
                self._say(Msg(f" of {human_size(found.block_bytes)}", f" × {human_size(found.block_bytes)}"))
                if found.block_bytes
                else ""
            )
            parts.append(self._say(Msg(f"{found.blocks} host blocks{size}", f"{found.blocks} 个主机块{size}")))
        if found.blocks_used_most:
            parts.append(
                self._say(Msg(f"{found.blocks_used_most} in use at most", f"最多用到 {found.blocks_used_most} 个"))
            )
        return self._say(COMMA).join(parts)

    def _preempted(self, engine: EngineReport) -> str:
        found = engine.counts
        if found is None or not (found.preempted or found.restored):
            count = found.engine_preemptions if found else 0
            return (
                self._say(Msg(f"{count}, by the engine's statistics", f"引擎统计 {count} 次"))
                if count
                else self._say(Msg("none", "无"))
            )
        parts = [
            self._say(Msg(f"{found.preempted} times", f"{found.preempted} 次")),
            self._say(Msg(f"parked {found.parked}", f"暂存 {found.parked}")),
            self._say(Msg(f"restored {found.restored}", f"恢复 {found.restored}")),
        ]
        fallbacks = series(f"{reason} {count}" for reason, count in found.fallbacks.items())
        parts.append(self._say(Msg(f"fell back {fallbacks.en}", f"回退 {fallbacks.zh}")) if fallbacks else "")
        parts.append(
            self._say(Msg(f"handed back {found.handed_back}", f"交还 {found.handed_back}")) if found.handed_back else ""
        )
        parts.append(self._say(Msg(f"aborted {found.aborted}", f"中止 {found.aborted}")) if found.aborted else "")
        return self._say(COMMA).join(part for part in parts if part)

    def _recomputed(self, engine: EngineReport) -> str:
        found, counts = engine.recomputed, engine.counts
        if found is None or counts is None or not (counts.preempted or counts.restored):
            return ""
        if found.at_most == found.at_least:
            return self._say(Msg(counted(found.at_least, "token"), f"{found.at_least} 个 token"))
        if found.at_most is not None:
            return self._say(
                Msg(
                    f"{found.at_least} to {counted(found.at_most, 'token')}",
                    f"{found.at_least} 至 {found.at_most} 个 token",
                )
            )
        return self._say(
            Msg(
                f"at least {counted(found.at_least, 'token')} (not logged for "
                f"{counted(found.requests_unknown, 'preemption')})",
                f"至少 {found.at_least} 个 token（另有 {found.requests_unknown} 次抢占，日志没有记录）",
            )
        )

    def _problem(self, problem: Problem) -> list[str]:
        code = f"[{problem.code}]" if problem.code else ""
        head = self._paint(f"{self._say(SEVERITIES[problem.severity])}{code}", COLOURS[problem.severity])
        place = self._say(Msg(f" (line {problem.line})", f"（第 {problem.line} 行）")) if problem.line else ""
        times = f" ×{problem.count}" if problem.count > 1 and problem.line else ""
        lines = [f"  {head} {clean(problem.message)}{place}{times}"]
        if problem.text:
            lines.append(f"      | {clean(problem.text)[:200]}")
        if problem.help:
            lines.append(f"      {self._label('help')}{clean(problem.help)}")
        return lines

    def _benign(self, engine: EngineReport) -> str:
        texts = (f"{clean(p.message)} ×{p.count}" if p.count > 1 else clean(p.message) for p in engine.benign)
        return self._say(SEMICOLON).join(texts)

    def _timelines(self, engine: EngineReport) -> list[str]:
        lines = []
        for request in engine.requests:
            lines.append(f"  {clean(request.id)}")
            for m in request.moments:
                lines.append(f"    {m.line:>7} {m.time:14} {TITLES.get(m.event, m.event):20} {clean(m.text)[:160]}")
        if engine.requests_left_out:
            n = engine.requests_left_out
            lines.append(self._say(Msg(f"  and {n} earlier requests", f"  另有 {n} 个更早的请求")))
        return lines

    def _verdict(self, verdict: Verdict) -> str:
        row = VERDICTS[verdict]
        return self._paint(row.title.text(self.lang), row.colour)

    def _label(self, key: str) -> str:
        return self._say(_LABELS[key]) + self._say(COLON)

    def _say(self, said: Msg) -> str:
        return said.text(self.lang)

    def _paint(self, text: str, colour: str) -> str:
        return f"\033[1;{colour}m{text}\033[0m" if self.colour else text
