"""Lines of engines' logs that ``pd-launch logs`` looks for: which releases write each of them, and where.

Keyed by the literal that is searched. The evidence is that text in the release's own files; where the program puts it
together, the part that is there.
"""

from __future__ import annotations

import re

from pd_launch.schemas.releases.facts import Code, Documented, Fact, Project

_POOL = "vllm_ascend/distributed/kv_transfer/kv_pool"
_OFFLOAD = f"{_POOL}/recompute_cpu_offload/*.py {_POOL}/kv_offload/preempt_offload/*.py"
_SCHEDULER = "vllm_ascend/core/recompute_scheduler.py"
_PLATFORM = "vllm_ascend/platform.py"
_OPTIONS = "vllm_ascend/ascend_config.py"
_P2P = "vllm_ascend/distributed/kv_transfer/kv_p2p/*.py"
_CORE = "vllm/v1/engine/core.py"
_V1 = "vllm/distributed/kv_transfer/kv_connector/v1"
_FACTORY = "vllm/distributed/kv_transfer/kv_connector/factory.py"
_CLI = "vllm/entrypoints/*.py vllm/entrypoints/*/*.py vllm/entrypoints/*/*/*.py"

_NAMED, _RENAMED, _SPLIT = "0.23.0rc1", "0.28.0rc1", "0.30.0rc1"

_Row = tuple[str, "str | None", "str | None", str, str]
_ASCEND: tuple[_Row, ...] = (
    ("RecomputeCPUOffloadConnector: role=", _NAMED, _RENAMED, _OFFLOAD, ""),
    ("PreemptOffloadConnector: role=", _RENAMED, None, _OFFLOAD, ""),
    ("RecomputeCPUOffloadScheduler: allocating ", _NAMED, _RENAMED, _OFFLOAD, ""),
    ("PreemptOffloadScheduler: allocating ", _RENAMED, None, _OFFLOAD, ""),
    ("RecomputeCPUOffloadWorker scaffold registered", _NAMED, _RENAMED, _OFFLOAD, ""),
    ("PreemptOffloadWorker scaffold registered", _RENAMED, None, _OFFLOAD, ""),
    ("Created recompute offload state for request ", _NAMED, _RENAMED, _OFFLOAD, ""),
    ("Created preempt offload state for request ", _RENAMED, None, _OFFLOAD, ""),
    ("Prepared recompute offload H2D load for request ", _NAMED, _RENAMED, _OFFLOAD, ""),
    ("Prepared preempt offload H2D load for request ", _RENAMED, None, _OFFLOAD, ""),
    ("Skip recompute offload for request ", _NAMED, _RENAMED, _OFFLOAD, ""),
    ("Skip preempt offload for request ", _RENAMED, None, _OFFLOAD, ""),
    ("Recompute preemption offload enabled for request ", _NAMED, _RENAMED, _SCHEDULER, ""),
    ("Recompute preemption falls back without offload for request ", _NAMED, _RENAMED, _SCHEDULER, ""),
    ("KV offload raised before decode-side preemption", _RENAMED, None, _SCHEDULER, ""),
    ("KV offload was unavailable or failed before decode-side preemption", _RENAMED, None, _SCHEDULER, ""),
    ("KV offload failed with fine-grained TP enabled; aborting", _SPLIT, None, _SCHEDULER, ""),
    ("Recompute triggered for request ", "0.20.2rc1", None, _SCHEDULER, ""),
    ("recompute_scheduler_enable can only be enabled", None, None, _PLATFORM, ""),
    ("enable_offload_prefix_caching must be a bool", _NAMED, None, _OFFLOAD, ""),
    ("offload_host_memory_ratio", _RENAMED, None, _OFFLOAD, "offload_host_memory_ratio must be"),
    ("effective per-rank CPU offload memory must be positive", _RENAMED, None, _OFFLOAD, ""),
    ("Hybrid models do not support recompute mode kv load failure policy", "0.21.0rc1", None, _PLATFORM, ""),
    ("additional_config.scheduler_config must be a dict", "0.25.1rc1", None, _OPTIONS, ""),
    ("config has a conflicting", None, None, "vllm_ascend/utils.py", ""),
    ("prefill_tp_size", None, None, f"{_OPTIONS} {_P2P}", r"(?s)prefill_tp_size.{0,120}?must be greater than"),
    ("Failed to prepare recompute H2D load after KV block", _NAMED, None, _OFFLOAD, ""),
    ("H2D block mapping is incomplete", _NAMED, None, _OFFLOAD, ""),
    ("H2D KV group count mismatch", _NAMED, None, _OFFLOAD, ""),
    ("H2D produced an empty block range", _NAMED, None, _OFFLOAD, ""),
    ("Invalid recompute H2D Mamba", _SPLIT, None, _OFFLOAD, ""),
    ("Invalid circular cache", _SPLIT, None, _OFFLOAD, ""),
    ("Invalid Mamba Conv restore range", _SPLIT, None, _OFFLOAD, ""),
    ("No registered Mamba Conv cache tensors for preempt H2D", _SPLIT, None, _OFFLOAD, ""),
    ("Preempt offload cannot determine Mamba state semantics", _SPLIT, None, _OFFLOAD, ""),
    ("Unexpected Ascend Mamba Conv cache shape", _SPLIT, None, _OFFLOAD, ""),
    ("Mamba Conv cache must have one physical row", _SPLIT, None, _OFFLOAD, ""),
    ("Aliased Mamba Conv views must have identical", _SPLIT, None, _OFFLOAD, ""),
    ("recompute_scheduler_enable is deprecated and ignored because", "0.25.1rc1", None, _OPTIONS,
     r"additional_config\.(%s|\{\w+\}) is deprecated and ignored because"),
    ("additional_config.recompute_scheduler_enable is deprecated; use", "0.25.1rc1", None, _OPTIONS,
     r"additional_config\.(%s|\{\w+\}) is deprecated; use"),
    ("recompute_scheduler_enable is ignored on PD-disaggregated P nodes", _NAMED, None, _PLATFORM, ""),
    ("Force freed expired request", "0.21.0rc1", None, _P2P, ""),
    ("Failed to reset recompute offload cache", _NAMED, _RENAMED, _OFFLOAD, ""),
    ("Failed to reset preempt offload cache", _RENAMED, None, _OFFLOAD, ""),
    ("has different num_blocks", _NAMED, None, _OFFLOAD, ""),
    ("cpu_bytes_to_use_per_rank (", _NAMED, _RENAMED, _OFFLOAD, ""),
)  # fmt: skip
_VLLM: tuple[_Row, ...] = (
    ("non-default args: {", None, None, _CLI, "non-default args: %s"),
    ("Initializing a V1 LLM engine (v", None, None, _CORE, ""),
    (" KV cache size: ", None, None, "vllm/v1/core/*.py", ""),
    ("num_gpu_blocks_override=", None, None, "vllm/v1/core/*.py", ""),
    ("init engine (profile, create kv cache", None, None, _CORE, ""),
    ("EngineCore encountered a fatal error", None, None, _CORE, ""),
    ("EngineCore failed to start", None, None, _CORE, ""),
    ("Engine core initialization failed", None, None, "vllm/v1/engine/utils.py", ""),
    ("Platform plugin ascend is activated", None, None, "vllm/platforms/__init__.py",
     "Platform plugin %s is activated"),
    ("Using custom scheduler class ", None, None, "vllm/config/scheduler.py", ""),
    ("Creating v1 connector with name: ", None, None, _FACTORY, ""),
    ("Preemptions: ", None, None, "vllm/v1/metrics/loggers.py", ""),
    ("KV Transfer metrics: ", None, None, f"{_V1}/metrics.py", ""),
    ("Unsupported connector type: ", None, None, _FACTORY, ""),
    (" is not registered", None, None, f"{_FACTORY} {_V1}/multi_connector.py", ""),
    ("Insufficient space in /dev/shm", "0.27.0", None, "vllm/distributed/device_communicators/shm_broadcast.py",
     "Insufficient space in"),
    ("cannot be converted to", None, None, "vllm/engine/arg_utils.py", ""),
    ("Turning off hybrid kv cache manager because", None, None, "vllm/config/vllm.py", ""),
    ("Detected prefix caching disabled, disabling CPU offload", "0.19.0", None,
     f"{_V1}/simple_cpu_offload_connector.py", ""),
    ("cpu_bytes_to_use_per_rank (", "0.19.0", None, f"{_V1}/simple_cpu_offload_connector.py", ""),
    ("Initializing KVConnectorBase_V1. This API is experimental", None, None, f"{_V1}/base.py", ""),
)  # fmt: skip

_PYTHON = "https://docs.python.org/3/"
ELSEWHERE: dict[str, Documented] = {
    "Application startup complete.": Documented("https://www.uvicorn.org/", "the web server's own line"),
    "Shutting down": Documented("https://www.uvicorn.org/", "the web server's own line"),
    "invalid literal for int() with base 10: ": Documented(f"{_PYTHON}library/functions.html#int"),
    "ddress already in use": Documented(f"{_PYTHON}library/errno.html#errno.EADDRINUSE"),
    "unrecognized arguments: ": Documented(f"{_PYTHON}library/argparse.html"),
    "No module named 'pd_launch": Documented(f"{_PYTHON}library/exceptions.html#ModuleNotFoundError"),
    "Error: ": Documented(f"{_PYTHON}tutorial/errors.html"),
}
"""Lines that neither vLLM nor vllm-ascend writes, but what they build on."""


def _facts(project: Project, rows: tuple[_Row, ...]) -> list[tuple[str, Fact]]:
    return [
        (
            needle,
            Fact(f"{project}-writes-{_slug(needle)}", project, since, until, f'the log says "{needle.strip()}"',
                 (Code(files, pattern or re.escape(needle)),)),
        )
        for needle, since, until, files, pattern in rows
    ]  # fmt: skip


def _slug(needle: str) -> str:
    return re.sub(r"\W+", "-", needle.lower()).strip("-")


LOG_LINES: dict[str, tuple[Fact, ...]] = {}
"""Literal → who writes it, in which releases."""
for _needle, _fact in (*_facts("vllm-ascend", _ASCEND), *_facts("vllm", _VLLM)):
    LOG_LINES[_needle] = (*LOG_LINES.get(_needle, ()), _fact)


def writers(needle: str) -> str:
    """Return who writes a line, with releases, such as ``vllm-ascend 0.23.0rc1 to 0.27.1rc1``; pd-launch if no one."""
    known = [str(fact) for fact in LOG_LINES.get(needle, ())]
    return ", ".join(known) or (ELSEWHERE[needle].says or "Python" if needle in ELSEWHERE else "pd-launch")
