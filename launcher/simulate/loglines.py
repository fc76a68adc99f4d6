"""What an engine's log says of its size, its options, and how long its steps take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import IO

from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.sim.play import StepTime

MAX_LINE = 64 * 1024
INTERVAL = 10.0
"""Seconds between the lines of throughput."""
FEWEST = 3
"""Lines of throughput that a fit takes."""
_NUMBER = r"['\"]?{0}['\"]?(?:=|: )(\d{{1,9}})\b"
_INTEGERS = {
    name: lazy_pattern(_NUMBER.format(name))
    for name in (
        "max_num_seqs",
        "max_num_batched_tokens",
        "max_model_len",
        "block_size",
        "long_prefill_token_threshold",
        "num_speculative_tokens",
        "pipeline_parallel_size",
        "decode_context_parallel_size",
        "prefill_context_parallel_size",
    )
}
_SWITCHES = {
    name: lazy_pattern(rf"['\"]?{name}['\"]?(?:=|: )(True|False)\b")
    for name in ("enable_prefix_caching", "enable_chunked_prefill", "async_scheduling", "enable_lora")
}
_POLICY = lazy_pattern(r"scheduling_policy['\"]?(?:=|: )['\"](fcfs|priority)['\"]")
_METHOD = lazy_pattern(r"['\"]method['\"]: ['\"]([a-z0-9_-]{1,40})['\"]")
_CONNECTOR = lazy_pattern(r"\bkv_connector['\"]?(?:=|: )['\"]([A-Za-z0-9_]{1,80})['\"]")
_ROLE = lazy_pattern(r"\bkv_role['\"]?(?:=|: )['\"](kv_[a-z]{4,12})['\"]")
_HANDS_BACK = lazy_pattern(r"recompute_scheduler_enable['\"]?(?:=|: )[Tt]rue")
_DRAFTS = lazy_pattern(r"Accepted: (\d{1,12}) tokens, Drafted: (\d{1,12}) tokens")
_WATERMARK = lazy_pattern(r"['\"]?watermark['\"]?(?:=|: )(0?\.\d{1,9})\b")
_TOKENS = lazy_pattern(r"KV cache size: ([\d,]{1,20}) tokens")
_BLOCKS = lazy_pattern(
    r"(?:num_gpu_blocks_override=|num_gpu_blocks is: |# GPU blocks: |# NPU blocks: |registered: )(\d{1,9})\b"
)
_HOST = lazy_pattern(r"host blocks of (\d{1,12}) bytes")
_VERSION = lazy_pattern(r"V1 LLM engine \(v([^)\s]{1,40})\)")
_RATES = lazy_pattern(
    r"Avg prompt throughput: ([\d.]{1,20}) tokens/s, Avg generation throughput: ([\d.]{1,20}) tokens/s, "
    r"Running: (\d{1,9}) reqs"
)
_LITERALS = ("non-default args", "KV cache size", "num_gpu_blocks", "PU blocks: ", "host blocks of", "V1 LLM engine (v")
_SPECULATION = "SpecDecoding metrics: "


@dataclass
class LogSize:
    """What the log says; None: nothing. The last start counts."""

    numbers: dict[str, int] = field(default_factory=dict)
    switches: dict[str, bool] = field(default_factory=dict)
    priority: bool | None = None
    watermark: float | None = None
    cache_tokens: int | None = None
    blocks: int | None = None
    host_block_bytes: int | None = None
    version: str | None = None
    method: str | None = None
    role: str | None = None
    connectors: list[str] = field(default_factory=list)
    hands_back: bool = False
    accepted: int = 0
    drafted: int = 0
    rates: list[tuple[float, float, int]] = field(default_factory=list)

    @property
    def acceptance(self) -> float | None:
        """Return accepted of drafted tokens; None where no line says it."""
        return self.accepted / self.drafted if self.drafted else None

    def step_time(self) -> tuple[StepTime, float] | None:
        """Return the time of a step as the lines of throughput fit it, and by how much it misses them (a share).

        In each interval the steps are those that gave every running request a token. Both times come from least
        squares over all intervals with work in them; None where these are too few or say nothing.
        """
        drafts = self.numbers.get("num_speculative_tokens", 0)
        if drafts and self.acceptance is None:
            return None  # how many tokens a step gave is not known
        each = 1 + drafts * (self.acceptance or 0.0)
        points = []
        for prompt, generated, running in self.rates:
            if running and generated > 0:
                steps = INTERVAL * generated / running / each
                points.append((steps, INTERVAL * prompt + steps * running * (1 + drafts)))
        if len(points) < FEWEST:
            return None
        base, per_token = _fit(points)
        if base <= 0:
            return None
        missed = sorted(abs(base * steps + per_token * tokens - INTERVAL) / INTERVAL for steps, tokens in points)
        return StepTime(base, per_token), missed[len(missed) // 2]


def _fit(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Return x and y with x·a + y·b nearest to one interval over all (a, b); y is at least 0."""
    aa = sum(a * a for a, _ in points)
    ab = sum(a * b for a, b in points)
    bb = sum(b * b for _, b in points)
    sa, sb = INTERVAL * sum(a for a, _ in points), INTERVAL * sum(b for _, b in points)
    determinant = aa * bb - ab * ab
    if determinant > 1e-9 * aa * bb:
        x, y = (sa * bb - sb * ab) / determinant, (sb * aa - sa * ab) / determinant
        if x > 0 and y >= 0:
            return x, y
    return (sa / aa if aa else 0.0), 0.0


def read_log(stream: IO[bytes]) -> LogSize:
    """Return what a log says, in bounded memory."""
    found = LogSize()
    for raw in _lines(stream):
        line = raw.decode("utf-8", "replace")
        if rates := _RATES.search(line):
            found.rates.append((_float(rates[1]), _float(rates[2]), int(rates[3])))
            del found.rates[:-100_000]
        elif _SPECULATION in line and (drafts := _DRAFTS.search(line)):
            found.accepted += int(drafts[1])
            found.drafted += int(drafts[2])
        elif any(literal in line for literal in _LITERALS):
            _take(found, line)
    return found


def _take(found: LogSize, line: str) -> None:
    if "non-default args" in line:
        found.numbers.clear()
        found.switches.clear()
        found.priority = found.watermark = None
        found.rates.clear()
        found.accepted = found.drafted = 0
        found.method = match[1] if (match := _METHOD.search(line)) else None
        found.role = match[1] if (match := _ROLE.search(line)) else None
        found.connectors = _CONNECTOR.findall(line)
        found.hands_back = _HANDS_BACK.search(line) is not None
        for name, pattern in _INTEGERS.items():
            if match := pattern.search(line):
                found.numbers[name] = int(match[1])
        for name, pattern in _SWITCHES.items():
            if match := pattern.search(line):
                found.switches[name] = match[1] == "True"
        if match := _POLICY.search(line):
            found.priority = match[1] == "priority"
        if match := _WATERMARK.search(line):
            found.watermark = float(match[1])
    if match := _TOKENS.search(line):
        digits = match[1].replace(",", "")
        found.cache_tokens = int(digits) if digits else None
    if match := _BLOCKS.search(line):
        found.blocks = int(match[1])
    if match := _HOST.search(line):
        found.host_block_bytes = int(match[1])
    if match := _VERSION.search(line):
        found.version = match[1]


def _lines(stream: IO[bytes]) -> Iterable[bytes]:
    """Give the lines, each at most so long; what is after that is passed over."""
    while line := stream.readline(MAX_LINE):
        yield line
        while len(line) == MAX_LINE and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE)


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
