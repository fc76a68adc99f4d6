"""Makes logs in the documented formats of releases that cannot be run here."""

from __future__ import annotations

from pd_launch.launcher.logs.build import file_reports
from pd_launch.launcher.logs.collect import Collector
from pd_launch.schemas.logs import EngineReport

ARGS = (
    "non-default args: {{'model': '/models/m', 'block_size': 128, 'additional_config': {additional}, "
    "'kv_transfer_config': KVTransferConfig(kv_connector='MultiConnector', engine_id='e', kv_role='{role}', "
    "kv_connector_extra_config={{'connectors': [{{'kv_connector': 'MooncakeConnectorV1', 'kv_role': '{role}'}}, "
    "{{'kv_connector': '{name}', 'kv_role': '{role}'}}]}}, kv_load_failure_policy='fail')}}"
)
OLD, NEW = "RecomputeCPUOffloadConnector", "PreemptOffloadConnector"
PREFIX = "[RecomputeScheduler] "
SCHEDULER = (
    "WARNING",
    "Using custom scheduler class vllm_ascend.core.recompute_scheduler.AsyncRecomputeScheduler. This scheduler "
    "interface is not public and compatibility may not be maintained.",
)


def line(message: str, level: str = "INFO", process: str = "EngineCore_DP0 pid=7", place: str = "x.py:1") -> str:
    return f"({process}) {level} 09-20 10:00:00 [{place}] {message}\n"


def log(*messages: str | tuple[str, str]) -> str:
    """Return a log of messages; a tuple gives the level first."""
    return "".join(line(m) if isinstance(m, str) else line(m[1], m[0]) for m in messages)


def args(name: str = OLD, role: str = "kv_consumer", on: bool = True, nested: bool = False) -> str:
    flag = f"{{'recompute_scheduler_enable': {on}}}"
    additional = f"{{'scheduler_config': {flag}}}" if nested else flag
    return ARGS.format(additional=additional, role=role, name=name)


def start(version: str = "0.25.1", **options: object) -> tuple[str | tuple[str, str], ...]:
    """Lines that every Ascend engine begins with."""
    return (
        args(**options),  # type: ignore[arg-type]
        "Platform plugin ascend is activated",
        f"Initializing a V1 LLM engine (v{version}) with config: model='/models/m', data_parallel_size=2",
    )


def connector(blocks: int = 1024) -> tuple[str, ...]:
    """Lines of vllm-ascend's connector up to 0.27.1rc1, with its scheduler side."""
    return (
        "Creating v1 connector with name: AscendMultiConnector and engine_id: e",
        f"{OLD}: role=WORKER, per_rank=16.00 GB, world_size=8, offload_prefix_caching=False",
        f"RecomputeCPUOffloadWorker scaffold registered 61 unique KV tensors, allocating {blocks} CPU blocks (16.00 "
        "GB).",
        f"{OLD}: role=SCHEDULER, per_rank=16.00 GB, world_size=8, offload_prefix_caching=False",
        f"RecomputeCPUOffloadScheduler: allocating {blocks} CPU blocks (16.00 GB) for recompute offload, prefix "
        "caching=False",
        "init engine (profile, create kv cache, warmup model) took 9.5 s",
    )


def parked(rid: str, prefix: str = PREFIX, word: str = "recompute") -> tuple[str, ...]:
    return (
        f"Created {word} offload state for request {rid}: computed_tokens=1300, cpu_blocks=11, store_blocks=11, "
        "ready=False.",
        f"{prefix}Recompute preemption offload enabled for request {rid}.",
    )


def restored(rid: str, word: str = "recompute") -> str:
    return f"Prepared {word} offload H2D load for request {rid}: tokens=[0, 1300), blocks=11."


def skipped(rid: str, prefix: str = PREFIX, word: str = "recompute") -> tuple[str | tuple[str, str], ...]:
    return (
        (
            "WARNING",
            f"Skip {word} offload for request {rid}: CPU cache has 3 free blocks, but 11 new blocks are required.",
        ),
        f"{prefix}Recompute preemption falls back without offload for request {rid}",
        ("WARNING", f"[RecomputeScheduler] Recompute triggered for request {rid}."),
    )


def collected(text: str | bytes, piece: int = 1 << 20) -> Collector:
    """Read a log in pieces."""
    data = text if isinstance(text, bytes) else text.encode()
    collector = Collector()
    for at in range(0, len(data), piece):
        list(collector.feed(data[at : at + piece]))
    list(collector.close())
    return collector


def reports(text: str | bytes, lang: str = "en", requests: bool = True) -> list[EngineReport]:
    return file_reports("x.log", collected(text), lang, requests)


def report(text: str | bytes, lang: str = "en") -> EngineReport:
    """Return the report on a log that holds one engine."""
    (only,) = reports(text, lang)
    return only
