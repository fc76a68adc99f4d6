"""A look at engines for people: the verdict, all engines beside each other, then what to change."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pd_launch.launcher.verdicts.table import COLON, COLOURS, COMMA, VERDICTS, Severity
from pd_launch.launcher.wording.width import clean, width
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.severity import SEVERITIES
from pd_launch.schemas.core.units import counted, human_size
from pd_launch.schemas.core.words import joined, series
from pd_launch.schemas.logs import Problem
from pd_launch.schemas.status import Counts, EngineStatus, StatusReport, Transfer

_GAP = 2
_LEAST = 14
"""Columns of a cell: narrower ones wrap into further blocks."""
NOTHING = "–"
_NO_ANSWER = Msg("NO ANSWER", "无响应")
_NOT_AN_ENGINE = Msg("NOT AN ENGINE", "不是引擎")
_NO_OFFLOAD = Msg("no offload", "无卸载")
_NOT_READ = Msg("not read", "未读出")
_ANSWERS = Msg("ANSWERS", "有响应")
_ROLES = {"decode": Msg("decode", "解码"), "prefill": Msg("prefill", "预填充"), "unknown": Msg("?", "?")}


@dataclass(frozen=True)
class StatusText:
    """Renders looks in one language. ``columns`` is the width of a line; ``colour`` whether to colour."""

    lang: str
    colour: bool
    columns: int = 100

    def render(self, report: StatusReport) -> str:
        """Return a whole look."""
        blocks = [self._head(report)]
        for some in self._groups(report.engines):
            blocks.append("\n".join(self._table(some)))
        ranks = [line for engine in report.engines for line in self._ranks(engine)]
        if ranks:
            blocks.append("\n".join(ranks))
        told = [line for engine in report.engines for line in self._told(engine, len(report.engines) > 1)]
        if told:
            blocks.append("\n".join(told))
        return "\n\n".join(blocks) + "\n"

    def line(self, report: StatusReport) -> str:
        """Return a look in one line, without colours."""
        return self._head(report)

    # The verdict

    def _head(self, report: StatusReport) -> str:
        silent = [e for e in report.engines if e.answer == "no_answer"]
        leading = next((e for e in report.engines if e.verdict == report.verdict and e.reason), None)
        if report.verdict is not None and report.verdict != "not_an_engine":
            row = VERDICTS[report.verdict]
            head = self._paint(row.title.text(self.lang), row.colour)
            text = self._say(Msg(f"{head}: {leading.reason}", f"{head}：{leading.reason}")) if leading else head
        elif report.verdict == "not_an_engine":
            text = self._paint(_NOT_AN_ENGINE.text(self.lang), "31")
        elif (odd := next((e for e in report.engines if _is_odd(e)), None)) is not None:
            head = self._paint(_ANSWERS.text(self.lang), "33")
            text = self._say(Msg(f"{head}: {odd.reason}", f"{head}：{odd.reason}"))
        elif not silent:
            head = self._paint(_ANSWERS.text(self.lang), "32")
            text = self._say(
                Msg(
                    f"{head}: no engine here shows an offload connector, so there is nothing to judge",
                    f"{head}：这里没有引擎显示卸载连接器，因此没有关于它的结论",
                )
            )
        else:
            text = ""
        if silent:
            count = self._say(
                Msg(
                    "no answer from any engine"
                    if len(silent) == len(report.engines)
                    else f"no answer from {len(silent)} of {counted(len(report.engines), 'engine')}",
                    f"{len(report.engines)} 个引擎中有 {len(silent)} 个没有响应",
                )
            )
            gone = self._paint(_NO_ANSWER.text(self.lang), "31")
            text = (
                self._say(Msg(f"{text}; {count}", f"{text}；{count}"))
                if text
                else self._say(Msg(f"{gone}: {count}", f"{gone}：{count}"))
            )
        return text

    # The table

    def _groups(self, engines: Sequence[EngineStatus]) -> list[list[EngineStatus]]:
        """Split engines so that each group's columns fit side by side."""
        label = max(width(name) for name, _ in self._rows())
        each = max(_LEAST, *(min(30, width(self._title(e))) for e in engines)) if engines else _LEAST
        most = max(1, (self.columns - label - 2) // (each + _GAP))
        return [list(engines[i : i + most]) for i in range(0, len(engines), most)]

    def _table(self, engines: Sequence[EngineStatus]) -> list[str]:
        rows = [("", [self._title(engine) for engine in engines])]
        for name, cell in self._rows():
            cells = [cell(engine) for engine in engines]
            if any(text not in ("", NOTHING) for text in cells):
                rows.append((name, cells))
        label = max(width(name) for name, _ in rows)
        room = max(8, self.columns - label - 2)
        room = max(8, room // max(1, len(engines)) - _GAP)
        widths = [min(room, max(width(cells[i]) for _, cells in rows)) for i in range(len(engines))]
        lines = []
        for name, cells in rows:
            shown = [_padded(_cut(text, wide), wide) for text, wide in zip(cells, widths, strict=True)]
            lines.append(f"{_padded(name, label)}  {(' ' * _GAP).join(shown)}".rstrip())
        return lines

    def _title(self, engine: EngineStatus) -> str:
        role = "" if engine.role == "unknown" else f"{_ROLES[engine.role].text(self.lang)} "
        name = clean(engine.name)
        return name if engine.role_from == "profile" else f"{role}{name}"

    def _rows(self) -> list[tuple[str, Callable[[EngineStatus], str]]]:
        """Return name and cell of every line; those without anything to say are left out."""

        def counted(key: str) -> Callable[[EngineStatus], str]:
            return lambda e: self._counted(e, lambda counts: getattr(counts, key))

        return [
            (self._say(Msg("offload", "卸载")), self._verdict),
            ("vLLM", lambda e: clean(e.version or (NOTHING if e.answer != "answers" else "?"))),
            (self._say(Msg("running, waiting", "运行中、等待")), self._requests),
            (self._say(Msg("KV cache in use", "KV 缓存占用")), self._kv),
            (self._say(Msg("preempted", "被抢占")), counted("preempted")),
            (self._say(Msg("parked", "暂存")), counted("parked")),
            (self._say(Msg("restored", "恢复")), counted("restored")),
            (self._say(Msg("fell back", "回退")), self._fallbacks),
            (self._say(Msg("not needed", "不再需要")), lambda e: self._by_reason(e, "unneeded")),
            (self._say(Msg("recomputed, handed back", "重新计算、交还")), self._recomputed),
            (self._say(Msg("parked now", "目前暂存")), self._parked_now),
            (self._say(Msg("host pool", "主机池")), self._pool),
            (self._say(Msg("to host, back", "保存、取回")), self._bytes),
            (self._say(Msg("KV transfers", "KV 传输")), lambda e: self._transfers(e, self._moved)),
            (self._say(Msg("  failed, expired", "  失败、过期")), lambda e: self._transfers(e, self._failed)),
            (self._say(Msg("  p50, p99", "  p50、p99")), lambda e: self._transfers(e, self._times)),
            (self._say(Msg("tokens out", "输出 token")), counted("generated_tokens")),
            (self._say(Msg("requests ended", "已结束请求")), lambda e: self._by_reason(e, "finished")),
            (self._say(Msg("first token p50, p99", "首 token p50、p99")), lambda e: self._latency(e, "ttft")),
            (self._say(Msg("next token p50, p99", "后续 token p50、p99")), lambda e: self._latency(e, "itl")),
            (self._say(Msg("queue p50, p99", "排队 p50、p99")), lambda e: self._latency(e, "queue")),
            (self._say(Msg("other offload", "其他卸载")), self._stores),
        ]

    def _verdict(self, engine: EngineStatus) -> str:
        if engine.answer == "no_answer":
            return _NO_ANSWER.text(self.lang)
        if engine.verdict is None:
            return (_NOT_READ if _is_odd(engine) else _NO_OFFLOAD).text(self.lang)
        title = _NOT_AN_ENGINE if engine.verdict == "not_an_engine" else VERDICTS[engine.verdict].title
        return title.text(self.lang)

    def _counted(self, engine: EngineStatus, pick: Callable[[Counts], int | None]) -> str:
        total = pick(engine.totals) if engine.totals else None
        if total is None:
            return NOTHING
        more = pick(engine.last) if engine.last else None
        if not more or not engine.seconds:
            return f"{total:,}"
        return f"{total:,} (+{more:,}, {_rate(more / engine.seconds)}/s)"

    def _requests(self, engine: EngineStatus) -> str:
        now = engine.now
        if now is None or (now.running is None and now.waiting is None):
            return NOTHING
        return f"{_number(now.running)}, {_number(now.waiting)}"

    def _kv(self, engine: EngineStatus) -> str:
        usage = engine.now.kv_usage if engine.now else None
        return NOTHING if usage is None else f"{100 * usage:.0f} %"

    def _fallbacks(self, engine: EngineStatus) -> str:
        if engine.totals is None or engine.totals.parked is None:
            return NOTHING
        return self._by_reason(engine, "fallbacks") if engine.totals.fallbacks else "0"

    def _by_reason(self, engine: EngineStatus, key: str) -> str:
        found: dict[str, int] = getattr(engine.totals, key) if engine.totals else {}
        return self._say(series(f"{clean(reason)} {count:,}" for reason, count in found.items())) or NOTHING

    def _recomputed(self, engine: EngineStatus) -> str:
        totals = engine.totals
        if totals is None or not totals.preempted:
            return NOTHING
        told = (totals.recomputed_tokens, totals.handed_back)
        return self._say(Msg("not exported", "未导出") if told == (None, None) else series(map(_number, told)))

    def _parked_now(self, engine: EngineStatus) -> str:
        now = engine.now
        if now is None or now.parked is None:
            return NOTHING
        if not now.oldest_parked_seconds:
            return f"{now.parked}"
        age = _seconds(now.oldest_parked_seconds)
        return self._say(Msg(f"{now.parked}, oldest {age}", f"{now.parked}，最久 {age}"))

    def _pool(self, engine: EngineStatus) -> str:
        now = engine.now
        if now is None or now.pool_total is None:
            return NOTHING
        share = f" ({100 * (now.pool_used or 0) / now.pool_total:.0f} %)" if now.pool_total else ""
        return self._say(
            Msg(
                f"{_number(now.pool_used)} of {now.pool_total:,} blocks{share}",
                f"{_number(now.pool_used)} / {now.pool_total:,} 块{share}",
            )
        )

    def _bytes(self, engine: EngineStatus) -> str:
        totals = engine.totals
        if totals is None or totals.saved_bytes is None:
            return NOTHING
        return self._say(series((human_size(totals.saved_bytes), human_size(totals.restored_bytes or 0))))

    def _transfers(self, engine: EngineStatus, cell: Callable[[Transfer], str]) -> str:
        return self._say(joined(Msg(text, text) for one in engine.transfers if (text := cell(one)))) or NOTHING

    def _moved(self, one: Transfer) -> str:
        moved = (_number(one.done), human_size(one.bytes)) if one.bytes else (_number(one.done),)
        return f"{one.name} {self._say(series(moved))}"

    def _failed(self, one: Transfer) -> str:
        if one.failed is None and one.expired is None:
            return ""
        return self._say(series((_number(one.failed), _number(one.expired))))

    def _times(self, one: Transfer) -> str:
        if one.p50_seconds is None or one.p99_seconds is None:
            return ""
        return self._say(series((_seconds(one.p50_seconds), _seconds(one.p99_seconds))))

    def _latency(self, engine: EngineStatus, key: str) -> str:
        found = engine.latencies.get(key)
        if found is None or found.p50 is None or found.p99 is None:
            return NOTHING
        return self._say(series((_seconds(found.p50), _seconds(found.p99))))

    def _stores(self, engine: EngineStatus) -> str:
        return self._say(series(store.name for store in engine.stores)) or NOTHING

    # After the table

    def _ranks(self, engine: EngineStatus) -> list[str]:
        lines = []
        for rank in engine.ranks:
            totals, now = rank.totals, rank.now
            parts = [
                self._say(
                    Msg(
                        f"running {_number(now.running)}, waiting {_number(now.waiting)}",
                        f"运行中 {_number(now.running)}，等待 {_number(now.waiting)}",
                    )
                ),
                self._say(Msg(f"preempted {_number(totals.preempted)}", f"被抢占 {_number(totals.preempted)}")),
            ]
            if totals.parked is not None:
                parts.append(
                    self._say(
                        Msg(
                            f"parked {totals.parked}, restored {_number(totals.restored)}",
                            f"暂存 {totals.parked}，恢复 {_number(totals.restored)}",
                        )
                    )
                )
            name = f"{clean(engine.name)} rank {clean(rank.rank)}"
            lines.append(name + self._say(COLON) + self._say(COMMA).join(parts))
        return lines

    def _told(self, engine: EngineStatus, many: bool) -> list[str]:
        name = clean(engine.name) + self._say(COLON) if many else ""
        lines = []
        if engine.error:
            word = self._say(
                Msg(
                    "no answer" if engine.answer == "no_answer" else "not an engine",
                    "没有响应" if engine.answer == "no_answer" else "不是引擎",
                )
            )
            what, url = clean(engine.error), clean(engine.url)
            said = self._say(Msg(f"{word}: {what} ({url})", f"{word}：{what}（{url}）"))
            lines.append(f"{name}{self._severity('error')} {said}")
        for problem in engine.problems:
            lines += self._problem(name, problem)
        for one in engine.differences:
            here, there = clean(one.running), clean(one.profile)
            lines.append(
                self._say(
                    Msg(
                        f"{name}not as the profile says: {one.what} is {here}, not {there}",
                        f"{name}与配置文件不一致：{one.what} 为 {here}，而不是 {there}",
                    )
                )
            )
        return lines

    def _problem(self, name: str, problem: Problem) -> list[str]:
        lines = [f"{name}{self._severity(problem.severity, problem.code)} {clean(problem.message)}"]
        if problem.help:
            lines.append("    " + self._say(Msg(f"help: {clean(problem.help)}", f"建议：{clean(problem.help)}")))
        return lines

    def _severity(self, severity: Severity, code: str | None = None) -> str:
        return self._paint(self._say(SEVERITIES[severity]) + (f"[{code}]" if code else ""), COLOURS[severity])

    def _say(self, said: Msg) -> str:
        return said.text(self.lang)

    def _paint(self, text: str, colour: str) -> str:
        return f"\033[1;{colour}m{text}\033[0m" if self.colour else text


def _is_odd(engine: EngineStatus) -> bool:
    """Whether an engine has the offload's series, but what they say of parked requests is no number."""
    totals = engine.totals
    return engine.verdict is None and totals is not None and totals.parked is None and totals.restored is not None


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def _seconds(value: float) -> str:
    if value < 1:
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s" if value < 120 else f"{value / 60:.0f} min"


def _padded(text: str, wide: int) -> str:
    return text + " " * max(0, wide - width(text))


def _cut(text: str, wide: int) -> str:
    """Cut a text to so many columns of a terminal, with an ellipsis for what goes."""
    if width(text) <= wide:
        return text
    while text and width(text) > wide - 1:
        text = text[:-1]
    return f"{text.rstrip()}…"
