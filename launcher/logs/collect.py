"""Gathers what a log says, for each engine in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import field

from pd_launch.launcher.logs.notices import Notice
from pd_launch.launcher.logs.reader import MAX_LINE, Hit, Noticed, Scanner
from pd_launch.launcher.logs.story import MAX_EVENTS, MAX_REQUESTS, Book
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.units import counted
from pd_launch.schemas.engine.budget import OFFLOAD_NAMES

MAX_ENGINES = 256
MAX_EXCEPTIONS = 5
RECOMPUTE_MODULE = "vllm_ascend.core.recompute_scheduler."
_FIELD = lazy_pattern(r"(?<!\w)(\w+)=([^,\s]+)")
_FALLBACK = lazy_pattern(r"fallback\.(\w+)'?(?:=|: )(\d{1,15})")
_GAUGE = lazy_pattern(r"pool_blocks_(used|total)'?(?:=|: )(\d{1,15})")
_STATS_ONLY = ("untracked", "resumable", "prompt_pass", "overwritten", "no_worker", "no_pool", "unknown_engine")
"""Reasons that only the statistics tell, not a line of their own. What is wanted, such as a reset, is no fallback."""
_PARKED_BEFORE = ("overwritten",)
"""Those of requests whose preemption a line of its own told."""


@dataclass
class Seen:
    """How often a notice was there, and where first."""

    notice: Notice
    count: int = 0
    line: int = 0
    text: str = ""


@dataclass
class ConnectorFacts:
    """The offload connector as its own lines describe it. None: the log does not say."""

    name: str | None = None
    bundled: bool | None = None
    sides: dict[str, int] = field(default_factory=dict)
    """How often it was made, by SCHEDULER and WORKER."""
    per_rank_bytes: int | None = None
    rounded: bool = False
    """Whether the budget is only known as it is rounded in the log."""
    world_size: int | None = None
    blocks: int | None = None
    """Host blocks of a rank; the fewest, where engines differ."""
    block_bytes: int | None = None
    pinned: str | None = None
    registered: int = 0
    inert_role: str | None = None
    blind: bool = False
    used_most: int | None = None


@dataclass
class EngineFacts:
    """What the log says of one engine: of the last start, where it holds several."""

    stream: str = ""
    starts: int = 0
    first_line: int = 0
    version: str | None = None
    engine: bool = False
    started: bool = False
    ready: bool = False
    shutdown: bool = False
    died: int = 0
    """Line that says so; 0: none does."""
    ascend: bool = False
    args: bool = False
    role: str | None = None
    configured: str | None = None
    """The offload connector that the arguments name."""
    switched_on: bool = False
    """Whether the arguments switch the recompute scheduler on."""
    scheduler: str | None = None
    wrapper: str | None = None
    block_tokens: int | None = None
    cache_tokens: int | None = None
    device_blocks: int | None = None
    preemptions: int = 0
    connector: ConnectorFacts = field(default_factory=ConnectorFacts)
    book: Book = field(default_factory=Book)
    notices: dict[str, Seen] = field(default_factory=dict)
    exceptions: list[tuple[int, str]] = field(default_factory=list)
    more_exceptions: bool = False

    @property
    def recompute_scheduler(self) -> bool:
        """Whether vllm-ascend's recompute scheduler was really selected."""
        return self.scheduler is not None and self.scheduler.startswith(RECOMPUTE_MODULE)

    @property
    def tokens_per_block(self) -> int | None:
        """Tokens of a KV block, as said or as the cache's size implies."""
        if self.block_tokens is None and self.cache_tokens and self.device_blocks:
            return self.cache_tokens // self.device_blocks or None
        return self.block_tokens


class Collector:
    """Takes a log in pieces; ``engines`` is what it says so far."""

    def __init__(self) -> None:
        self.scanner = Scanner()
        self._engines: dict[str, EngineFacts] = {}
        self.crowded = False
        """Whether there are more engines than are told apart."""

    @property
    def engines(self) -> list[EngineFacts]:
        """One entry for each engine whose lines can be told apart; lines without a mark belong to one engine."""
        return list(self._engines.values())

    @property
    def is_engine_log(self) -> bool:
        """Whether anything in it comes from an engine."""
        return self.scanner.engine_seen or any(e.args or e.engine or e.notices for e in self.engines)

    def not_kept(self, each: bool = True) -> Iterator[str]:
        """Iterate over what is left out because there is too much of it; ``each``: requests are listed one by one."""
        if self.scanner.cut:
            yield f"only the first {MAX_LINE >> 10} KiB of {_lines(self.scanner.cut)} were read"
        forgotten = sum(engine.book.forgotten for engine in self.engines)
        if forgotten and each:
            yield f"more than {MAX_REQUESTS} requests: {forgotten} counted, but not listed individually"
        if any(engine.more_exceptions for engine in self.engines):
            yield f"more than {MAX_EXCEPTIONS} different errors from one engine: only the first are shown"
        cut = sum(1 for engine in self.engines for story in engine.book.stories.values() if story.left_out)
        if cut and each:
            yield f"only the first {MAX_EVENTS} lines of {counted(cut, 'request')} are kept for --timeline"

    def feed(self, data: bytes) -> Iterator[Hit | Noticed]:
        """Take in a piece and give what was found in it."""
        yield from self._take(self.scanner.feed(data))

    def close(self) -> Iterator[Hit | Noticed]:
        """Take in the end."""
        yield from self._take(self.scanner.close())

    def _take(self, found: Iterable[Hit | Noticed]) -> Iterator[Hit | Noticed]:
        for item in found:
            engine = self._engine(item)
            if isinstance(item, Noticed):
                _notice(engine, item)
            elif "id" in item.match.re.groupindex:
                engine.book.take(item)
            else:
                _TAKE[item.pattern.event](engine, item)
            yield item

    def _engine(self, item: Hit | Noticed) -> EngineFacts:
        stream = item.line.stream
        if item.line.start is None and stream not in self._engines and "" in self._engines:
            stream = ""  # a tag in a line without vLLM's prefix, not the mark of another engine
        engine = self._engines.get(stream)
        if engine is None:
            if len(self._engines) >= MAX_ENGINES:
                self.crowded = True
                return next(reversed(self._engines.values()))
            engine = self._engines[stream] = EngineFacts(stream, first_line=item.line.number)
        if isinstance(item, Hit) and item.pattern.event == "args" and engine.args and _was_running(engine):
            engine = EngineFacts(stream, engine.starts, item.line.number, ascend=engine.ascend)
            self._engines[stream] = engine
        return engine


def _lines(count: int) -> str:
    return f"{count} longer lines" if count > 1 else "a longer line"


def _was_running(engine: EngineFacts) -> bool:
    """Whether a further start is one after another; ranks that start side by side get there before any is made."""
    return engine.started or engine.ready or bool(engine.died or engine.exceptions)


def _notice(engine: EngineFacts, item: Noticed) -> None:
    seen = engine.notices.setdefault(item.notice.needle, Seen(item.notice))
    seen.count += 1
    if not seen.line:
        seen.line, seen.text = item.line.number, item.line.text[item.line.start or 0 :][:400]


def _args(engine: EngineFacts, hit: Hit) -> None:
    text = hit.match["args"]
    engine.args = True
    engine.starts += 1
    role = re.search(r"kv_role='(kv_\w+)'", text)
    engine.role = role[1] if role else engine.role
    named = [name for name in OFFLOAD_NAMES if re.search(rf"kv_connector'?(?:=|: )'{name}'", text)]
    engine.configured = named[0] if named else None
    if engine.configured:
        engine.connector.bundled = "pd_launch.connector" in text
    engine.switched_on = re.search(r"recompute_scheduler_enable'?(?:=|: )True", text) is not None
    engine.book.recomputes_failed_loads = "kv_load_failure_policy='recompute'" in text
    engine.book.prefix_caching = "'enable_prefix_caching': False" not in text
    size = re.search(r"'block_size': (\d{1,6})\b", text)
    engine.block_tokens = int(size[1]) if size else None


def _engine_line(engine: EngineFacts, hit: Hit) -> None:
    engine.engine = True
    engine.version = hit.match["version"]


def _cache(engine: EngineFacts, hit: Hit) -> None:
    tokens = hit.match["tokens"].replace(",", "")
    engine.cache_tokens = int(tokens) if tokens.isdecimal() and len(tokens) < 16 else None


def _blocks_override(engine: EngineFacts, hit: Hit) -> None:
    engine.device_blocks = int(hit.match["blocks"][:12])


def _scheduler(engine: EngineFacts, hit: Hit) -> None:
    engine.scheduler = hit.match["cls"][:200]
    engine.ascend = engine.ascend or "vllm_ascend" in engine.scheduler


def _wrapper(engine: EngineFacts, hit: Hit) -> None:
    engine.wrapper = hit.match["name"]
    engine.ascend = engine.ascend or engine.wrapper == "AscendMultiConnector"


def _stats(engine: EngineFacts, hit: Hit) -> None:
    text = hit.match["stats"]
    for reason, count in _FALLBACK.findall(text):
        if reason in _STATS_ONLY:
            totals = engine.book.totals
            totals.preempted += 0 if reason in _PARKED_BEFORE else int(count)
            totals.unknown += int(count)
            totals.fallbacks[reason] = totals.fallbacks.get(reason, 0) + int(count)
    gauges = {name: int(value) for name, value in _GAUGE.findall(text)}
    if "used" in gauges:
        engine.connector.used_most = max(engine.connector.used_most or 0, gauges["used"])
    if "total" in gauges:
        engine.connector.blocks = engine.connector.blocks or gauges["total"]
        engine.connector.bundled = True


def _connector(engine: EngineFacts, hit: Hit) -> None:
    connector, fields = engine.connector, dict(_FIELD.findall(hit.match["fields"]))
    connector.name = hit.match["name"]
    connector.sides[fields.get("role", "?")] = connector.sides.get(fields.get("role", "?"), 0) + 1
    connector.bundled = "kv_role" in fields  # vllm-ascend's own does not say it
    engine.role = engine.role or fields.get("kv_role")
    engine.ascend = engine.ascend or not connector.bundled
    world = fields.get("world_size", "")
    connector.world_size = int(world) if world.isdecimal() and len(world) < 8 else None
    exact, rounded = fields.get("per_rank_bytes", ""), fields.get("per_rank", "")
    if exact.isdecimal() and len(exact) < 20:
        connector.per_rank_bytes, connector.rounded = int(exact), False
    elif re.fullmatch(r"\d{1,12}\.\d+", rounded):
        connector.per_rank_bytes, connector.rounded = round(float(rounded) * 2**30), True  # it calls GiB GB


def _pool(engine: EngineFacts, hit: Hit) -> None:
    blocks = int(hit.match["blocks"][:15])
    before = engine.connector.blocks
    engine.connector.blocks = blocks if before is None else min(before, blocks)


def _memory(engine: EngineFacts, hit: Hit) -> None:
    connector = engine.connector
    connector.registered += 1
    connector.pinned = hit.match["pinned"] or connector.pinned
    if hit.match["size"]:
        connector.block_bytes = int(hit.match["size"][:15])


def _exception(engine: EngineFacts, hit: Hit) -> None:
    if len(engine.exceptions) < MAX_EXCEPTIONS:
        line = hit.line
        text = line.text[line.start or 0 :].strip()[:300]
        if all(text != old for _, old in engine.exceptions):
            engine.exceptions.append((line.number, text))
    else:
        engine.more_exceptions = True


def _died(engine: EngineFacts, hit: Hit) -> None:
    if not engine.shutdown and not engine.died:
        engine.died = hit.line.number


def _ready(engine: EngineFacts, hit: Hit) -> None:
    engine.ready = engine.started = True


def _started(engine: EngineFacts, hit: Hit) -> None:
    engine.started = engine.engine = True


def _shutdown(engine: EngineFacts, hit: Hit) -> None:
    engine.shutdown = True


def _ascend(engine: EngineFacts, hit: Hit) -> None:
    engine.ascend = True


def _preemptions(engine: EngineFacts, hit: Hit) -> None:
    engine.preemptions += int(hit.match["count"][:12])


def _inert(engine: EngineFacts, hit: Hit) -> None:
    engine.connector.inert_role = hit.match["role"]


def _blind(engine: EngineFacts, hit: Hit) -> None:
    engine.connector.blind = True


_TAKE = {
    "args": _args,
    "engine": _engine_line,
    "cache": _cache,
    "blocks_override": _blocks_override,
    "started": _started,
    "ready": _ready,
    "died": _died,
    "shutdown": _shutdown,
    "ascend": _ascend,
    "scheduler": _scheduler,
    "wrapper": _wrapper,
    "preemptions": _preemptions,
    "stats": _stats,
    "connector": _connector,
    "pool": _pool,
    "memory": _memory,
    "inert": _inert,
    "blind": _blind,
    "exception": _exception,
}
