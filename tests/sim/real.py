"""vLLM's own scheduler with a runner that computes nothing, to compare the simulator with."""

from __future__ import annotations

import logging
import os
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from pd_launch.schemas.sim.shape import Engine, Offload
from pd_launch.schemas.sim.work import Job

HEAD = 16
RETENTION = "VLLM_PREFIX_CACHE_RETENTION_INTERVAL"


@dataclass
class Seen:
    """What vLLM's scheduler did, in the simulator's terms."""

    steps: int = 0
    tokens: int = 0
    preempted: list[tuple[int, int]] = field(default_factory=list)
    free: list[tuple[int, int]] = field(default_factory=list)
    scheduled: list[tuple[int, dict[int, int]]] = field(default_factory=list)
    parked: int = 0
    restored: int = 0
    fallbacks: dict[str, int] = field(default_factory=dict)
    peak: int = 0
    seconds: float = 0.0


def prepare() -> None:
    """Set what vLLM reads when it is imported."""
    os.environ.update(
        VLLM_LOGGING_LEVEL="ERROR", HF_HUB_OFFLINE="1", VLLM_NO_USAGE_STATS="1", VLLM_CPU_KVCACHE_SPACE="1"
    )
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    logging.getLogger("vllm").setLevel(logging.ERROR)


def release() -> str:
    """Return the release whose Python files are imported, as its scheduler shows it."""
    prepare()
    import inspect

    from vllm.v1.core.sched.scheduler import Scheduler

    source = inspect.getsource(Scheduler)
    if "local_prefill_interval" in source:
        return "0.33.0"
    return "0.32.0" if "kv_holding_waiting" in source else "0.27.1"


def scheduler(folder: str, engine: Engine, offload: Offload | None) -> Any:
    """Build vLLM's scheduler for an engine; the model's folder holds a config.json."""
    prepare()
    import torch
    from vllm.config import KVTransferConfig
    from vllm.engine.arg_utils import EngineArgs
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec, SlidingWindowSpec
    from vllm.v1.structured_output import StructuredOutputManager

    specs: list[Any] = []
    for group in engine.groups:
        # Pages of one size: a group with blocks of fewer tokens has wider heads.
        width = HEAD * max(g.block_size for g in engine.groups) // group.block_size
        common: dict[str, Any] = {
            "block_size": group.block_size,
            "num_kv_heads": 1,
            "head_size": width,
            "dtype": torch.float32,
        }
        if group.window is None:
            specs.append(FullAttentionSpec(**common))
        else:
            specs.append(SlidingWindowSpec(**common, sliding_window=group.window))
    page = specs[0].page_size_bytes
    transfer = None
    if offload is not None:
        extra: dict[str, Any] = {"cpu_bytes_to_use_per_rank": page * offload.host_blocks}
        extra["enable_offload_prefix_caching"] = offload.share
        if offload.async_from is not None:
            extra["async_restore_bytes"] = page * offload.async_from
        transfer = KVTransferConfig(
            kv_connector="RecomputeCPUOffloadConnector",
            kv_connector_module_path="pd_launch.connector",
            kv_role="kv_consumer",
            kv_connector_extra_config=extra,
            kv_load_failure_policy="fail",
        )
    size = max(group.block_size for group in engine.groups)
    more: dict[str, Any] = {}
    if engine.adaptive_long_prefill:
        more["long_prefill_token_threshold_adaptive"] = True
    config = EngineArgs(
        model=folder,
        dtype="float32",
        max_num_seqs=engine.max_num_seqs,
        max_num_batched_tokens=engine.max_num_batched_tokens,
        max_model_len=engine.max_model_len,
        block_size=size,
        enable_prefix_caching=engine.prefix_caching,
        enable_chunked_prefill=engine.chunked_prefill,
        long_prefill_token_threshold=engine.long_prefill,
        async_scheduling=engine.asynchronous and engine.drafts is None,  # n-grams refuse it; it is set below
        scheduling_policy="priority" if engine.priority else "fcfs",
        watermark=engine.watermark,
        scheduler_reserve_full_isl=engine.reserve_full,
        skip_tokenizer_init=True,
        kv_transfer_config=transfer,
        **more,
        **_speculation(engine),
    ).create_engine_config()
    config.scheduler_config.async_scheduling = engine.asynchronous
    config.cache_config.num_gpu_blocks = engine.blocks
    groups = [KVCacheGroupSpec([f"l{n}"], spec) for n, spec in enumerate(specs)]
    cache = KVCacheConfig(
        num_blocks=engine.blocks, kv_cache_tensors=tensors(page, engine.blocks), kv_cache_groups=groups
    )
    if hasattr(cache, "prefix_cache_retention_interval"):
        cache.prefix_cache_retention_interval = engine.retention
    elif engine.retention is None:
        os.environ.pop(RETENTION, None)
    else:
        os.environ[RETENTION] = str(engine.retention)
    align = max(group.block_size for group in engine.groups)
    hashed = min(group.block_size for group in engine.groups)
    if engine.groups[0].block_size != hashed:
        cache.hash_block_size = hashed  # where the connector looks for it first
    cls = AsyncScheduler if engine.asynchronous else Scheduler
    found = cls(
        vllm_config=config,
        kv_cache_config=cache,
        structured_output_manager=StructuredOutputManager(config),
        block_size=align,
        hash_block_size=hashed,
        log_stats=False,
    )
    if engine.drafts is not None and engine.drafts.lookahead:
        _look_ahead(found, engine)
    return found


def _speculation(engine: Engine) -> dict[str, Any]:
    if engine.drafts is None:
        return {}
    config = {"method": "ngram", "num_speculative_tokens": engine.drafts.tokens, "prompt_lookup_max": 4}
    return {"speculative_config": config}


def _look_ahead(scheduler: Any, engine: Engine) -> None:
    """Let a scheduler reserve slots as for a drafter with a cache of its own, which would need a model."""
    assert engine.drafts is not None
    scheduler.num_lookahead_tokens = engine.drafts.lookahead
    if hasattr(scheduler, "_spec_decode_step_blocks"):
        tokens = 1 + engine.drafts.tokens + engine.drafts.lookahead
        scheduler._spec_decode_step_blocks = sum(-(-tokens // group.block_size) for group in engine.groups)


def tensors(page: int, blocks: int) -> list[Any]:
    """Return the tensors of a cache, as the release describes them."""
    from dataclasses import fields

    from vllm.v1.kv_cache_interface import KVCacheTensor

    names = {f.name for f in fields(KVCacheTensor)}
    if "layers" in names:
        return [KVCacheTensor(size=page * blocks, layers=["l0"], layer_stride=page * blocks, block_stride=page)]
    return [KVCacheTensor(size=page * blocks, shared_by=["l0"])]


def prompt_ids(number: int, job: Job) -> list[int]:
    """Return token ids in which equal chunks are equal, and everything else is one request's own."""
    out = []
    for k in range(job.prompt):
        if k < job.shared:
            out.append(hash((job.prefix[k // job.chunk], k)) % 1_000_003)
        else:
            out.append(2_000_000 + number * 65_536 + k)
    return out


def _none(number: int, position: int, drafted: int) -> int:
    return 0


MOST_CALLS = 20_000
"""Calls of the scheduler after which a run is taken to have no end."""


class NoEndError(Exception):
    """vLLM's scheduler goes on and answers nothing any more."""


class Drive:
    """The engine's loop around a scheduler, arrivals counted in calls of it."""

    def __init__(self, folder: str, engine: Engine, jobs: list[Job], offload: Offload | None = None) -> None:
        from vllm.sampling_params import SamplingParams
        from vllm.utils.hashing import sha256
        from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
        from vllm.v1.request import Request

        self.engine, self.offload, self.seen = engine, offload, Seen()
        self.scheduler = scheduler(folder, engine, offload)
        hasher = None
        if engine.prefix_caching or (offload is not None and offload.share):
            init_none_hash(sha256)
            hasher = get_request_block_hasher(min(group.block_size for group in engine.groups), sha256)
        order = sorted(range(len(jobs)), key=lambda n: jobs[n].arrival)
        self.pending: deque[tuple[float, Any]] = deque()
        for place, n in enumerate(order):
            job = jobs[n]
            request = Request(
                request_id=str(n),
                prompt_token_ids=prompt_ids(n, job),
                sampling_params=SamplingParams(max_tokens=job.output, ignore_eos=True, temperature=0),
                pooling_params=None,
                arrival_time=float(place),
                priority=job.priority,
                block_hasher=hasher,
            )
            self.pending.append((job.arrival, request))
        self.calls = 0
        self.queue: deque[tuple[int, Any, list[str]]] = deque()
        self.loading: list[tuple[int, str]] = []
        self._order: list[str] = []
        self.counts: Counter[str] = Counter()
        self.accepted = engine.drafts.accepted if engine.drafts is not None else _none
        self._watch()

    def _watch(self) -> None:
        """Note victims in their order, and let the connector see them so: vLLM keeps them in a set."""
        preempt = self.scheduler._preempt_request

        def noted(request: Any, *args: Any, **kwargs: Any) -> Any:
            self._order.append(request.request_id)
            return preempt(request, *args, **kwargs)

        self.scheduler._preempt_request = noted
        if self.scheduler.connector is None:
            return
        self._count()
        build = self.scheduler.connector.build_connector_meta

        def ordered(output: Any) -> Any:
            output.preempted_req_ids = list(self._order)
            return build(output)

        self.scheduler.connector.build_connector_meta = ordered

    def run(self) -> Seen:
        begin = time.process_time()
        while self.pending or self.scheduler.has_unfinished_requests() or self.queue:
            self.turn()
            if self.calls > MOST_CALLS:
                raise NoEndError
        self.seen.seconds = time.process_time() - begin
        self._connector()
        return self.seen

    def _count(self) -> None:
        """Keep what the connector counts; the scheduler takes it away with every step."""
        add = self.scheduler.connector.scheduler.counts.add

        def kept(name: str, value: float = 1) -> None:
            self.counts[name] += int(value)
            add(name, value)

        self.scheduler.connector.scheduler.counts.add = kept

    def _connector(self) -> None:
        self.seen.parked, self.seen.restored = self.counts["parked"], self.counts["restored"]
        self.seen.fallbacks = {k.partition(".")[2]: v for k, v in self.counts.items() if k.startswith("fallback.")}

    def turn(self) -> None:
        scheduler = self.scheduler
        while self.pending and self.pending[0][0] <= self.calls:
            scheduler.add_request(self.pending.popleft()[1])
        if not self.pending and not scheduler.has_unfinished_requests():
            self._update(*self.queue.popleft())
            return
        self._order.clear()
        out = scheduler.schedule()
        call, self.calls = self.calls, self.calls + 1
        self.seen.preempted += [(call, int(r)) for r in self._order]
        self.seen.tokens += out.total_num_scheduled_tokens
        self.seen.steps += out.total_num_scheduled_tokens > 0
        if out.total_num_scheduled_tokens:
            self.seen.scheduled.append((call, {int(r): n for r, n in out.num_scheduled_tokens.items()}))
            self.seen.free.append((call, scheduler.kv_cache_manager.block_pool.get_num_free_blocks()))
        sampled = [r for r in out.num_scheduled_tokens if not scheduler.requests[r].is_prefill_chunk]
        if self.offload is not None:
            side = scheduler.connector.scheduler
            self.seen.peak = max(self.seen.peak, side.ledger.host.total - side.ledger.host.free)
            for load in out.kv_connector_metadata.step.loads:
                if load.asynchronous:
                    self.loading.append((call + self.offload.load_steps - 1, load.request_id))
        self.queue.append((call, out, sampled))
        depth = 2 if self.engine.asynchronous else 1
        if len(self.queue) < depth and (out.total_num_scheduled_tokens or scheduler.has_unfinished_requests()):
            return
        self._update(*self.queue.popleft())

    def _update(self, call: int, out: Any, sampled: list[str]) -> None:
        from vllm.v1.outputs import KVConnectorOutput, ModelRunnerOutput

        ids = list(out.num_scheduled_tokens)
        tokens = [[3_000_000 + int(r)] * self._given(out, r) if r in set(sampled) else [] for r in ids]
        result = ModelRunnerOutput(
            req_ids=ids,
            req_id_to_index={r: k for k, r in enumerate(ids)},
            sampled_token_ids=tokens,
            logprobs=None,
            prompt_logprobs_dict={},
            pooler_output=[],
        )
        if self.offload is not None:
            from pd_launch.connector.metadata import WorkerReport

            step = out.kv_connector_metadata.step
            over = {r for end, r in self.loading if end <= call}
            self.loading = [(end, r) for end, r in self.loading if end > call]
            report = WorkerReport(step.number, self.offload.host_blocks) if step.report else None
            result.kv_connector_output = KVConnectorOutput(
                kv_connector_worker_meta=report, finished_recving=over or None
            )
        self.scheduler.update_from_output(out, result)
        if self.engine.drafts is not None and not self.engine.asynchronous:
            from vllm.v1.outputs import DraftTokenIds

            drafts = [[7] * self.engine.drafts.tokens for _ in ids]
            self.scheduler.update_draft_token_ids(DraftTokenIds(ids, drafts))

    def _given(self, out: Any, name: str) -> int:
        """Return how many tokens a step gives a request: one, and the drafts that are right."""
        drafts, request = self.engine.drafts, self.scheduler.requests.get(name)
        if drafts is None or request is None:
            return 1
        cached = out.scheduled_cached_reqs
        entered = name in cached.resumed_req_ids or any(new.req_id == name for new in out.scheduled_new_reqs)
        drafted = 0 if entered else len(out.scheduled_spec_decode_tokens.get(name, ()))
        return 1 + self.accepted(int(name), request.num_tokens, drafted)
