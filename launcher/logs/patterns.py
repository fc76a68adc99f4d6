"""The log lines that say something about preemption offload, as data: what is in them.

A pattern has a literal that is searched bytewise in the whole log, so that gigabytes go by quickly, and a regular
expression that is applied where the literal was found. Which releases write it: schemas/releases/log_lines.py.
"""

from __future__ import annotations

import re
from functools import cached_property

from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.releases.log_lines import writers

_SKIPPED = (
    r"(?:.*?has (?P<free>\d+) free blocks(?:, but| and) (?P<needed>\d+))?(?:.*?computed_tokens=(?P<computed>\d+))?"
)
_PARKED = (
    r"(?:.*?computed_tokens=(?P<computed>\d+))?(?:.*?saved_tokens=(?P<saved>\d+))?(?:.*?cpu_blocks=(?P<blocks>\d+))?"
)
_RESTORED = r"(?:.*?(?:external_tokens=(?P<tokens>\d+)|tokens=\[(?P<start>\d+), (?P<end>\d+)\)))?"
_ASKED = r"request_id=(?P<id>[^\s,\"\\]+)(?:, num_computed_tokens=(?P<computed>\d+))?"
_ID = r"for request (?P<id>[^\s:,\"\\]+?)[.:,]?(?=[\s\"\\]|$)"


@dataclass(frozen=True)
class Pattern:
    """One kind of line.

    ``needle`` is the literal; ``regex`` is applied from where it begins. ``free`` lines may be anywhere in a line;
    others only where a log message begins, so that a prompt that quotes them is not taken for one.
    """

    event: str
    needle: str
    regex: str
    free: bool = False

    @property
    def releases(self) -> str:
        """Who writes it, in which releases."""
        return writers(self.needle)

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The regular expression, compiled."""
        return re.compile(self.regex)

    @cached_property
    def raw(self) -> bytes:
        """The literal as bytes."""
        return self.needle.encode()


def _request(event: str, needle: str, more: str = "") -> Pattern:
    return Pattern(event, needle, rf".*?{_ID}{more}")


def _asked(event: str, needle: str) -> Pattern:
    return Pattern(event, needle, rf".*?{_ASKED}")


PATTERNS = (
    # The engine
    Pattern("args", "non-default args: {", r"non-default args: (?P<args>\{.*)"),
    Pattern("engine", "Initializing a V1 LLM engine (v", r".*?\(v(?P<version>[^)\s]{1,60})\)"),
    Pattern("cache", " KV cache size: ", r".*?(?P<tokens>[\d,]{1,20}) tokens", free=True),
    Pattern("blocks_override", "num_gpu_blocks_override=", r"num_gpu_blocks_override=(?P<blocks>\d+)", free=True),
    Pattern("started", "init engine (profile, create kv cache", r"init engine"),
    Pattern("ready", "Application startup complete.", r"Application startup complete", free=True),
    Pattern("died", "EngineCore encountered a fatal error", r"EngineCore enc"),
    Pattern("died", "EngineCore failed to start", r"EngineCore failed"),
    Pattern("died", "Engine core initialization failed", r"Engine core init", free=True),
    Pattern("shutdown", "Shutting down", r"Shutting down", free=True),
    Pattern("ascend", "Platform plugin ascend is activated", r"Platform plugin ascend"),
    Pattern("scheduler", "Using custom scheduler class ", r"Using custom scheduler class (?P<cls>\S+?)\.?\s"),
    Pattern(
        "wrapper",
        "Creating v1 connector with name: ",
        r"Creating v1 connector with name: (?P<name>[\w.]+)",
    ),
    Pattern("preemptions", "Preemptions: ", r"Preemptions: (?P<count>\d+)", free=True),
    Pattern("stats", "KV Transfer metrics: ", r"KV Transfer metrics: (?P<stats>.*)"),
    # The connector
    Pattern(
        "connector",
        "RecomputeCPUOffloadConnector: role=",
        r"(?P<name>RecomputeCPUOffloadConnector): (?P<fields>role=.*)",
    ),
    Pattern(
        "connector",
        "PreemptOffloadConnector: role=",
        r"(?P<name>PreemptOffloadConnector): (?P<fields>role=.*)",
    ),
    Pattern(
        "pool",
        "RecomputeCPUOffloadScheduler: allocating ",
        r".*?allocating (?P<blocks>\d+) CPU blocks",
    ),
    Pattern(
        "pool",
        "PreemptOffloadScheduler: allocating ",
        r".*?allocating (?P<blocks>\d+) CPU blocks",
    ),
    Pattern(
        "memory",
        "RecomputeCPUOffloadWorker scaffold registered",
        r".*?registered(?:.*?host blocks of (?P<size>\d+) bytes)?(?:.*?pinned=(?P<pinned>\w+))?",
    ),
    Pattern(
        "memory",
        "PreemptOffloadWorker scaffold registered",
        r".*?registered(?:.*?host blocks of (?P<size>\d+) bytes)?(?:.*?pinned=(?P<pinned>\w+))?",
    ),
    Pattern("inert", "does nothing with kv_role ", r"does nothing with kv_role (?P<role>\w+)", free=True),
    Pattern("blind", "shows no block pool with reset_prefix_cache", r".*", free=True),
    # Requests
    _request(
        "parked",
        "Created recompute offload state for request ",
        _PARKED,
    ),
    _request(
        "parked",
        "Created preempt offload state for request ",
        _PARKED,
    ),
    _request("enabled", "Recompute preemption offload enabled for request "),
    _request("enabled", "Preempt preemption offload enabled for request "),
    _request(
        "restored",
        "Prepared recompute offload H2D load for request ",
        _RESTORED,
    ),
    _request(
        "restored",
        "Prepared preempt offload H2D load for request ",
        _RESTORED,
    ),
    _request(
        "skipped",
        "Skip recompute offload for request ",
        _SKIPPED,
    ),
    _request(
        "skipped",
        "Skip preempt offload for request ",
        _SKIPPED,
    ),
    _request("fell_back", "Recompute preemption falls back without offload for request "),
    _asked("raised", "KV offload raised before decode-side preemption"),
    _asked("fell_back", "KV offload was unavailable or failed before decode-side preemption"),
    _asked("aborted", "KV offload failed with fine-grained TP enabled; aborting"),
    _request("handed_back", "Recompute triggered for request "),
    Pattern("save_failed", "Saving request ", r"Saving request (?P<id>\S+) failed, (?P<why>.*)"),
    Pattern("load_failed", "Restoring request ", r"Restoring request (?P<id>\S+) failed: (?P<why>.*)"),
)

EXCEPTION = Pattern("exception", "Error: ", r"Error: (?P<text>.*)", free=True)
"""An exception's own line; kept to say what ended an engine."""
