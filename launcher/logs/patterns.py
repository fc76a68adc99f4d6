"""The log lines that say something about preemption offload, as data: what stands in them, since which release.

A pattern has a literal that is searched bytewise in the whole log, so that gigabytes go by quickly, and a regular
expression that is applied where the literal was found. Sources: the guides, vllm-ascend's connector and scheduler at
the releases named, vLLM's own text, and our connector.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_ASCEND = "vllm-ascend 0.23.0rc1 to 0.27.1rc1"
_RENAMED = "vllm-ascend 0.28.0rc1 and later"
_OURS = "pd-launch"
_SKIPPED = (
    r"(?:.*?has (?P<free>\d+) free blocks(?:, but| and) (?P<needed>\d+))?(?:.*?computed_tokens=(?P<computed>\d+))?"
)
_PARKED = (
    r"(?:.*?computed_tokens=(?P<computed>\d+))?(?:.*?saved_tokens=(?P<saved>\d+))?(?:.*?cpu_blocks=(?P<blocks>\d+))?"
)
_RESTORED = r"(?:.*?(?:external_tokens=(?P<tokens>\d+)|tokens=\[(?P<start>\d+), (?P<end>\d+)\)))?"
_ASKED = r"request_id=(?P<id>[^\s,]+)(?:, num_computed_tokens=(?P<computed>\d+))?"
_ID = r"for request (?P<id>[^\s:,]+?)[.:,]?(?=\s|$)"


@dataclass(frozen=True)
class Pattern:
    """One kind of line.

    ``needle`` is the literal; ``regex`` is applied from where it begins. ``free`` lines may stand anywhere in a line;
    others only where a log message begins, so that a prompt that quotes them is not taken for one.
    """

    event: str
    needle: str
    regex: str
    releases: str
    free: bool = False

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The regular expression, compiled."""
        return re.compile(self.regex)

    @cached_property
    def raw(self) -> bytes:
        """The literal as bytes."""
        return self.needle.encode()


def _request(event: str, needle: str, releases: str, more: str = "") -> Pattern:
    return Pattern(event, needle, rf".*?{_ID}{more}", releases)


def _asked(event: str, needle: str, releases: str) -> Pattern:
    return Pattern(event, needle, rf".*?{_ASKED}", releases)


PATTERNS = (
    # The engine
    Pattern("args", "non-default args: {", r"non-default args: (?P<args>\{.*)", "vLLM"),
    Pattern("engine", "Initializing a V1 LLM engine (v", r".*?\(v(?P<version>[^)\s]{1,60})\)", "vLLM"),
    Pattern("cache", " KV cache size: ", r".*?(?P<tokens>[\d,]{1,20}) tokens", "vLLM", free=True),
    Pattern(
        "blocks_override", "num_gpu_blocks_override=", r"num_gpu_blocks_override=(?P<blocks>\d+)", "vLLM", free=True
    ),
    Pattern("started", "init engine (profile, create kv cache", r"init engine", "vLLM"),
    Pattern("ready", "Application startup complete.", r"Application startup complete", "vLLM", free=True),
    Pattern("died", "EngineCore encountered a fatal error", r"EngineCore enc", "vLLM"),
    Pattern("died", "EngineCore failed to start", r"EngineCore failed", "vLLM"),
    Pattern("died", "Engine core initialization failed", r"Engine core init", "vLLM", free=True),
    Pattern("shutdown", "Shutting down", r"Shutting down", "vLLM", free=True),
    Pattern("ascend", "Platform plugin ascend is activated", r"Platform plugin ascend", "vLLM with vllm-ascend"),
    Pattern(
        "scheduler", "Using custom scheduler class ", r"Using custom scheduler class (?P<cls>\S+?)\.?\s", "vLLM 0.23+"
    ),
    Pattern(
        "wrapper",
        "Creating v1 connector with name: ",
        r"Creating v1 connector with name: (?P<name>[\w.]+)",
        "vLLM 0.23+",
    ),
    Pattern("preemptions", "Preemptions: ", r"Preemptions: (?P<count>\d+)", "vLLM", free=True),
    Pattern("stats", "KV Transfer metrics: ", r"KV Transfer metrics: (?P<stats>.*)", "vLLM 0.23+"),
    # The connector
    Pattern(
        "connector",
        "RecomputeCPUOffloadConnector: role=",
        r"(?P<name>RecomputeCPUOffloadConnector): (?P<fields>role=.*)",
        f"{_ASCEND}, {_OURS}",
    ),
    Pattern(
        "connector",
        "PreemptOffloadConnector: role=",
        r"(?P<name>PreemptOffloadConnector): (?P<fields>role=.*)",
        f"{_RENAMED}, {_OURS}",
    ),
    Pattern(
        "pool",
        "RecomputeCPUOffloadScheduler: allocating ",
        r".*?allocating (?P<blocks>\d+) CPU blocks",
        f"{_ASCEND}, {_OURS}",
    ),
    Pattern(
        "pool",
        "PreemptOffloadScheduler: allocating ",
        r".*?allocating (?P<blocks>\d+) CPU blocks",
        f"{_RENAMED}, {_OURS}",
    ),
    Pattern(
        "memory",
        "RecomputeCPUOffloadWorker scaffold registered",
        r".*?registered(?:.*?host blocks of (?P<size>\d+) bytes)?(?:.*?pinned=(?P<pinned>\w+))?",
        f"{_ASCEND}, {_OURS}",
    ),
    Pattern(
        "memory",
        "PreemptOffloadWorker scaffold registered",
        r".*?registered(?:.*?host blocks of (?P<size>\d+) bytes)?(?:.*?pinned=(?P<pinned>\w+))?",
        f"{_RENAMED}, {_OURS}",
    ),
    Pattern("inert", "does nothing with kv_role ", r"does nothing with kv_role (?P<role>\w+)", _OURS, free=True),
    Pattern("blind", "shows no block pool with reset_prefix_cache", r".*", _OURS, free=True),
    # Requests
    _request(
        "parked",
        "Created recompute offload state for request ",
        f"{_ASCEND}, {_OURS}",
        _PARKED,
    ),
    _request(
        "parked",
        "Created preempt offload state for request ",
        f"{_RENAMED}, {_OURS}",
        _PARKED,
    ),
    _request(
        "enabled", "Recompute preemption offload enabled for request ", f"vllm-ascend 0.23.0rc1 and later, {_OURS}"
    ),
    _request("enabled", "Preempt preemption offload enabled for request ", _OURS),
    _request(
        "restored",
        "Prepared recompute offload H2D load for request ",
        f"{_ASCEND}, {_OURS}",
        _RESTORED,
    ),
    _request(
        "restored",
        "Prepared preempt offload H2D load for request ",
        f"{_RENAMED}, {_OURS}",
        _RESTORED,
    ),
    _request(
        "skipped",
        "Skip recompute offload for request ",
        f"{_ASCEND}, {_OURS}",
        _SKIPPED,
    ),
    _request(
        "skipped",
        "Skip preempt offload for request ",
        f"{_RENAMED}, {_OURS}",
        _SKIPPED,
    ),
    _request(
        "fell_back", "Recompute preemption falls back without offload for request ", "vllm-ascend 0.23.0rc1 and later"
    ),
    # core/recompute_scheduler.py:131, :142 at 0.28.0rc1 and :139 at 0.30.0rc1
    _asked("raised", "KV offload raised before decode-side preemption", _RENAMED),
    _asked("fell_back", "KV offload was unavailable or failed before decode-side preemption", _RENAMED),
    _asked("aborted", "KV offload failed with fine-grained TP enabled; aborting", "vllm-ascend 0.30.0rc1 and later"),
    _request("handed_back", "Recompute triggered for request ", "vllm-ascend 0.20.2rc1 and later"),
    Pattern("save_failed", "Saving request ", r"Saving request (?P<id>\S+) failed, (?P<why>.*)", _OURS),
    Pattern("load_failed", "Restoring request ", r"Restoring request (?P<id>\S+) failed: (?P<why>.*)", _OURS),
)

EXCEPTION = Pattern("exception", "Error: ", r"Error: (?P<text>.*)", "Python", free=True)
"""An exception's own line; kept to say what ended an engine."""
