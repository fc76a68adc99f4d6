"""An engine without a device: vllm-ascend's real scheduler, both sides of a connector, a model made of arithmetic.

The cache is made of CPU tensors in the shapes that vllm-ascend registers on an NPU. The "model" writes into the slot of
each token what follows from the token and its position, in every tensor, and takes the next token from all that a
request's block table leads to. So a request whose cache is wrong in one block goes on differently.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import torch
from vllm.config import (
    CacheConfig,
    DeviceConfig,
    KVTransferConfig,
    ModelConfig,
    SchedulerConfig,
    VllmConfig,
)
from vllm.distributed.kv_transfer.kv_connector.factory import KVConnectorFactory
from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorRole
from vllm.sampling_params import SamplingParams
from vllm.utils.hashing import sha256
from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
from vllm.v1.kv_cache_interface import (
    FullAttentionSpec,
    KVCacheConfig,
    KVCacheGroupSpec,
    KVCacheTensor,
    MLAAttentionSpec,
    SlidingWindowSpec,
)
from vllm.v1.outputs import KVConnectorOutput, ModelRunnerOutput
from vllm.v1.request import Request
from vllm.v1.structured_output import StructuredOutputManager

from tests.engine.models import model

SIZE = 32
WINDOW = 96
HEADS, WIDTH = 2, 32


@dataclass
class Layout:
    """Specs by group, and the tensors of one layer as vllm-ascend registers them."""

    specs: list[Any]
    shapes: list[tuple[int, ...]]  # per tensor, without the block dimension; "tokens" are in dimension 0
    scale: int = 1  # kernel blocks per block


def _full() -> Any:
    return FullAttentionSpec(block_size=SIZE, num_kv_heads=HEADS, head_size=WIDTH, dtype=torch.float16)


LAYOUTS = {
    "K and V apart": Layout([_full()], [(SIZE, HEADS, WIDTH)] * 2),
    "kernel blocks": Layout([_full()], [(SIZE // 2, HEADS, WIDTH)] * 2, scale=2),
    "MLA pair": Layout(
        [MLAAttentionSpec(block_size=SIZE, num_kv_heads=1, head_size=96, dtype=torch.float16)],
        [(SIZE, 1, 64), (SIZE, 1, 32)],
    ),
    "hybrid": Layout(
        [
            _full(),
            SlidingWindowSpec(
                block_size=SIZE, num_kv_heads=HEADS, head_size=WIDTH, dtype=torch.float16, sliding_window=WINDOW
            ),
        ],
        [(SIZE, HEADS, WIDTH)] * 2,
    ),
}


def _placed(shared: list[str], size: int, blocks: int, tensors: int, before: int) -> list[Any]:
    """Return where vLLM's configuration says that layers lie which share ``size`` bytes.

    Releases that place layers by strides have one entry for each, in one allocation of all ``tensors``; those of
    different groups overlie each other.
    """
    if "shared_by" in KVCacheTensor.__dataclass_fields__:
        return [KVCacheTensor(size=size, shared_by=shared)]
    place = {"size": tensors * size, "layer_stride": size, "block_stride": size // blocks}
    return [KVCacheTensor(layers=[name], offset=before // len(shared) * size, **place) for name in shared]


@dataclass
class Work:
    """Requests, and an engine to answer them."""

    layout: str = "K and V apart"
    blocks: int = 24
    requests: int = 8
    prompt: int = 100
    output: int = 120
    common: int = 0
    prefix_caching: bool = False
    connector: dict[str, Any] | None = None
    asynchronous: bool = False


@dataclass
class Outcome:
    """What became of the requests."""

    tokens: dict[str, list[int]] = field(default_factory=dict)
    reasons: dict[str, Any] = field(default_factory=dict)
    preempted: int = 0
    scheduled: int = 0
    steps: int = 0
    connector: Any = None

    def recomputed(self, work: Work) -> int:
        """Tokens scheduled beyond the least possible."""
        return self.scheduled - sum(work.prompt + len(t) - 1 for t in self.tokens.values())


class Engine:
    """See the module's docstring."""

    def __init__(self, work: Work, scheduler_class: Any) -> None:
        self.work, self.layout = work, LAYOUTS[work.layout]
        init_none_hash(sha256)
        self.config = self._config()
        self.cache_config = self._cache()
        self.scheduler = scheduler_class(
            vllm_config=self.config,
            kv_cache_config=self.cache_config,
            structured_output_manager=StructuredOutputManager(self.config),
            block_size=SIZE,
            log_stats=False,
        )
        self.worker: Any = None
        if work.connector:
            self.worker = KVConnectorFactory.create_connector(
                config=self.config, role=KVConnectorRole.WORKER, kv_cache_config=self.cache_config
            )
            self.worker.register_kv_caches(self.caches)
        self.rows: dict[str, list[list[int]]] = {}
        self.known: dict[str, list[int]] = {}
        self.outcome = Outcome(connector=self.scheduler.connector)

    def _config(self) -> VllmConfig:
        work = self.work
        model_config = ModelConfig(
            model=str(model("chaotic")), skip_tokenizer_init=True, dtype="float16", seed=0, max_model_len=512
        )
        scheduler = SchedulerConfig(
            max_num_seqs=work.requests,
            max_num_batched_tokens=2048,
            max_model_len=512,
            is_encoder_decoder=False,
            disable_hybrid_kv_cache_manager=False,
            async_scheduling=work.asynchronous,
        )
        cache = CacheConfig(block_size=SIZE, enable_prefix_caching=work.prefix_caching)
        transfer = None
        if work.connector:
            transfer = KVTransferConfig(kv_role="kv_consumer", **work.connector)
        config = VllmConfig(
            model_config=model_config,
            scheduler_config=scheduler,
            cache_config=cache,
            device_config=DeviceConfig("cpu"),
            kv_transfer_config=transfer,
        )
        config.cache_config.num_gpu_blocks = work.blocks
        return config

    def _cache(self) -> KVCacheConfig:
        """Two layers to a group; the layers of all groups share tensors, as vLLM places them."""
        layout, blocks = self.layout, self.work.blocks
        self.caches: dict[str, tuple[torch.Tensor, ...]] = {}
        tensors = []
        names = [[f"group{g}.{layer}" for g in range(len(layout.specs))] for layer in range(2)]
        for shared in names:
            parts = tuple(torch.zeros((blocks * layout.scale, *s), dtype=torch.float16) for s in layout.shapes)
            size = sum(part.numel() * part.element_size() for part in parts)
            tensors += _placed(list(shared), size, blocks, len(names), len(tensors))
            self.caches |= dict.fromkeys(shared, parts)
        groups = [KVCacheGroupSpec([row[g] for row in names], spec) for g, spec in enumerate(layout.specs)]
        return KVCacheConfig(num_blocks=blocks, kv_cache_tensors=tensors, kv_cache_groups=groups)

    # The model

    def _slots(self, g: int, request: str, position: int) -> list[torch.Tensor]:
        """Return the slot of a position in every tensor of a group."""
        block, offset = self.rows[request][g][position // SIZE], position % SIZE
        per = SIZE // self.layout.scale
        index = block * self.layout.scale + offset // per
        layers = [name for name in self.caches if name.startswith(f"group{g}.")]
        return [part[index, offset % per] for name in layers for part in self.caches[name]]

    def _compute(self, request: str, start: int, count: int) -> list[int]:
        tokens = self.known[request]
        for position in range(start, start + count):
            for g in range(len(self.layout.specs)):
                for i, slot in enumerate(self._slots(g, request, position)):
                    slot.fill_((tokens[position] * 7 + position * 13 + i * 5 + g) % 2003)
        if start + count < len(tokens):
            return []
        seen = hashlib.sha256()
        for g, spec in enumerate(self.layout.specs):
            first = max(0, len(tokens) - WINDOW) if isinstance(spec, SlidingWindowSpec) else 0
            row, per = torch.tensor(self.rows[request][g]), SIZE // self.layout.scale
            positions = torch.arange(first, len(tokens))
            index = row[positions // SIZE] * self.layout.scale + positions % SIZE // per
            for name in self.caches:
                if name.startswith(f"group{g}."):
                    for part in self.caches[name]:
                        seen.update(part[index, positions % per].numpy().tobytes())
        return [3 + int.from_bytes(seen.digest()[:4], "little") % 500]

    # The runner

    def _follow(self, output: Any) -> dict[str, int]:
        starts: dict[str, int] = {}
        for new in output.scheduled_new_reqs:
            self.rows[new.req_id] = [list(row) for row in new.block_ids]
            self.known.setdefault(new.req_id, list(new.prompt_token_ids))
            starts[new.req_id] = new.num_computed_tokens
        cached = output.scheduled_cached_reqs
        for request, rows, start in zip(cached.req_ids, cached.new_block_ids, cached.num_computed_tokens, strict=True):
            if request in cached.resumed_req_ids:
                self.rows[request] = [list(row) for row in rows]
            else:
                for row, more in zip(self.rows[request], rows or (), strict=False):
                    row.extend(more)
            starts[request] = start
        return starts

    def _execute(self, output: Any) -> ModelRunnerOutput:
        if self.worker:
            self.worker.handle_preemptions(output.kv_connector_metadata)
        starts = self._follow(output)
        connector = KVConnectorOutput()
        if self.worker:
            self.worker.bind_connector_metadata(output.kv_connector_metadata)
            self.worker.start_load_kv(SimpleNamespace())
        sampled = {r: self._compute(r, start, output.num_scheduled_tokens[r]) for r, start in starts.items()}
        for request, tokens in sampled.items():
            self.known[request] += tokens
        if self.worker:
            self.worker.wait_for_save()
            connector.finished_sending, connector.finished_recving = self.worker.get_finished(output.finished_req_ids)
            connector.invalid_block_ids = self.worker.get_block_ids_with_load_errors()
            connector.kv_connector_worker_meta = self.worker.build_connector_worker_meta()
            self.worker.clear_connector_metadata()
        order = list(sampled)
        return ModelRunnerOutput(
            req_ids=order,
            req_id_to_index={r: i for i, r in enumerate(order)},
            sampled_token_ids=[sampled[r] for r in order],
            kv_connector_output=connector if self.worker else None,
        )

    # The loop

    def add(self, name: str, prompt: list[int]) -> None:
        """Add a request."""
        hasher = get_request_block_hasher(SIZE, sha256) if self.work.prefix_caching else None
        sampling = SamplingParams(temperature=0, max_tokens=self.work.output, ignore_eos=True)
        sampling.update_from_generation_config({}, 2)
        self.scheduler.add_request(Request(name, prompt, sampling, None, block_hasher=hasher))
        self.outcome.tokens[name] = []

    def step(self) -> Any:
        """Run one step; with async scheduling the next one is scheduled before this one's results are taken in."""
        output = self.scheduler.schedule()
        self.outcome.steps += 1
        self.outcome.preempted += len(output.preempted_req_ids or ())
        self.outcome.scheduled += sum(output.num_scheduled_tokens.values())
        result = self._execute(output)
        return output, result

    def take(self, output: Any, result: ModelRunnerOutput) -> None:
        """Take in a step's results."""
        for batch in self.scheduler.update_from_output(output, result).values():
            for answer in batch.outputs:
                self.outcome.tokens[answer.request_id] += answer.new_token_ids
                if answer.finish_reason is not None:
                    self.outcome.reasons[answer.request_id] = answer.stop_reason or str(answer.finish_reason)

    def serve(self) -> Outcome:
        """Answer all requests."""
        draw = torch.Generator().manual_seed(5)
        common = torch.randint(3, 500, (self.work.common,), generator=draw).tolist()
        for i in range(self.work.requests):
            own = torch.randint(3, 500, (self.work.prompt - self.work.common,), generator=draw).tolist()
            self.add(f"r{i}", common + own)
        waiting: list[tuple[Any, ModelRunnerOutput]] = []
        for _ in range(4000):
            if not self.scheduler.has_unfinished_requests() and not waiting:
                return self.outcome
            if self.scheduler.has_unfinished_requests():
                waiting.append(self.step())
            if waiting and (len(waiting) > self.work.asynchronous or not self.scheduler.has_unfinished_requests()):
                self.take(*waiting.pop(0))
        raise AssertionError(f"no end: {self.outcome.tokens.keys() - self.outcome.reasons.keys()} are not answered")
