"""The class that vLLM loads. Thin: the scheduler side is :mod:`scheduler`, the worker side :mod:`worker`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from vllm.config import get_current_vllm_config_or_none
from vllm.distributed.kv_transfer.kv_connector.v1.base import (
    KVConnectorBase_V1,
    KVConnectorMetadata,
    KVConnectorRole,
    SupportsHMA,
)
from vllm.logger import init_logger
from vllm.platforms import current_platform

from pd_launch.connector.canaries import missing
from pd_launch.connector.engines import Siblings, Sides, own_transfer
from pd_launch.connector.limits import (
    allocation_error,
    check_budget,
    engines_here,
    no_block,
    ranks_here,
    ranks_of,
    shortage,
)
from pd_launch.connector.metadata import StepMetadata, WorkerReport
from pd_launch.connector.metrics import OffloadPromMetrics, OffloadStats
from pd_launch.connector.options import Options, parse_options
from pd_launch.connector.regions import block_regions
from pd_launch.connector.scheduler import OffloadScheduler
from pd_launch.connector.support import UnsupportedError, block_bytes, leaves_room_for_drafts, read_groups
from pd_launch.connector.wording import WORDING
from pd_launch.connector.worker import OffloadWorker
from pd_launch.schemas.core.units import human_size
from pd_launch.schemas.engine.budget import NEW_NAME, OLD_NAME, host_blocks
from pd_launch.schemas.offload.ledger import Step
from pd_launch.schemas.offload.turns import OneByOne

logger = init_logger(f"vllm.{__name__}")
SIDES: Sides[OffloadWorker] = Sides()
SIBLINGS = Siblings()


class RecomputeCPUOffloadConnector(KVConnectorBase_V1, SupportsHMA):  # type: ignore[misc]
    """Keeps the KV of preempted requests in host memory and restores it when they are scheduled again."""

    default_name = OLD_NAME
    # vllm-ascend's MultiConnector asks. A request that another child restores needs nothing from here: no blocks and 0
    # tokens, as everybody else gets, drops the copy.
    requires_full_blocks_on_update_after_alloc = False

    def __init__(self, vllm_config: Any, role: KVConnectorRole, kv_cache_config: Any = None) -> None:
        super().__init__(vllm_config, role, kv_cache_config)
        self.scheduler: OffloadScheduler | None = None
        self.worker: OffloadWorker | None = None
        self._step: Step | None = None
        self._engine: str | None = None  # the scheduler side's name for this engine
        self._worker_here: OffloadWorker | None = None  # its worker side, if that is in this process
        transfer = vllm_config.kv_transfer_config
        if not self._active(transfer.kv_role, role):
            return
        SIBLINGS.add(self, role, kv_cache_config)
        groups = read_groups(kv_cache_config, vllm_config)
        size = block_bytes(kv_cache_config)
        extra = transfer.kv_connector_extra_config or {}
        cache_bytes = size * kv_cache_config.num_blocks
        options = self._options(extra, transfer.kv_role, vllm_config.parallel_config, cache_bytes, role)
        budget = options.budget.per_rank_bytes or 0
        words = WORDING[self.default_name]
        if role == KVConnectorRole.WORKER:
            self._cache_config = vllm_config.cache_config
            self.worker = self.make_worker(budget, kv_cache_config.num_blocks, options)
            SIDES.add(self.worker)
            return
        blocks = host_blocks(budget, size)
        if not blocks:
            raise UnsupportedError(no_block(self.default_name, budget, size))
        self.scheduler = OffloadScheduler(
            groups, blocks, words, self._hash_block_size(vllm_config) if options.prefix_caching else None
        )
        self._engine = uuid4().hex
        self._worker_here = SIDES.of(self._engine)
        self.scheduler.saves_late = bool(getattr(vllm_config, "use_v2_model_runner", False))
        self.scheduler.lacks = missing(self.scheduler.saves_late)
        if options.async_restore_bytes is not None:
            self.scheduler.async_from = -(-options.async_restore_bytes // size)
        elif transfer.kv_load_failure_policy == "recompute" and vllm_config.scheduler_config.async_scheduling:
            # vLLM schedules the next step ahead and does not take back what it computes from a failed restore.
            self.scheduler.async_from = 0
            logger.info(
                "%s: restores run in parallel with other steps, so that a failed one can be recomputed", words.connector
            )
        self.scheduler.turns = OneByOne(needed=not leaves_room_for_drafts(vllm_config))
        logger.info("%s: allocating %d CPU blocks of %s", words.scheduler, blocks, human_size(size))
        # This side is made last, when weights and KV cache have their memory.
        ranks = self._ranks * engines_here(vllm_config.parallel_config)
        if warning := shortage(budget, ranks, self.default_name):
            logger.warning("%s", warning)

    def make_worker(self, budget: int, num_blocks: int, options: Options) -> OffloadWorker:
        """Return the worker side."""
        words = WORDING[self.default_name]
        return OffloadWorker(
            budget,
            num_blocks,
            words,
            options.pin_host_memory,
            options.copy_backend,
            touch=options.touch_host_memory,
        )

    def _active(self, kv_role: str, role: KVConnectorRole) -> bool:
        """Whether this role is served. vllm-ascend calls the hook for consumers only; else it is inert or refused."""
        if current_platform.device_type == "npu":
            if kv_role == "kv_consumer":
                return True
            if role == KVConnectorRole.SCHEDULER:
                logger.warning(
                    "%s does nothing with kv_role %s: preempted requests are recomputed. Set kv_role to kv_consumer on "
                    "decode nodes, and remove the connector elsewhere",
                    self.default_name,
                    kv_role,
                )
            return False
        if kv_role == "kv_producer":
            raise UnsupportedError(
                f"{self.default_name} works on nodes that decode, so kv_role kv_producer makes no sense for it: set "
                "kv_role to kv_consumer (or kv_both), or remove the connector from the prefill node"
            )
        return True

    def _options(
        self, extra: Mapping[str, Any], kv_role: str, parallel: Any, device_cache_bytes: int, role: KVConnectorRole
    ) -> Options:
        world_size = ranks_of(parallel)
        options = parse_options(extra, world_size, self.default_name, device_cache_bytes)
        per_rank = options.budget.per_rank_bytes or 0
        if self.default_name == NEW_NAME:
            text = f"per_rank_bytes={per_rank} world_size={world_size} host_memory_ratio={options.budget.ratio}"
        else:
            text = f"per_rank={per_rank / 2**30:.2f} GB world_size={world_size}"
        logger.info(
            "%s: role=%s %s kv_role=%s enable_offload_prefix_caching=%s",
            self.default_name,
            role.name,
            text,
            kv_role,
            options.prefix_caching,
        )
        self._ranks = ranks_here(parallel)
        check_budget(per_rank, self._ranks, self.default_name)
        return options

    def _hash_block_size(self, vllm_config: Any) -> int:
        size = getattr(self._kv_cache_config, "hash_block_size", None)
        size = size or getattr(vllm_config.cache_config, "hash_block_size", None)
        return int(size or vllm_config.cache_config.block_size)

    @property
    def requires_kv_delivery(self) -> bool:
        """A lost save is only a recomputation, so a victim's output in flight need not be dropped."""
        return False

    # Scheduler side

    def bind_gpu_block_pool(self, gpu_block_pool: Any) -> None:
        """Watch resets of the prefix cache."""
        if self.scheduler:
            self.scheduler.wrap_reset(gpu_block_pool)

    def reset_cache(self) -> bool:
        """Forget what is parked."""
        return self.scheduler.reset_cache() if self.scheduler else True

    def get_loaded_kv_cache_group_ids(self, request: Any) -> tuple[int, ...]:
        """Return all groups: a restore brings back the request's own blocks."""
        return tuple(range(len(self._kv_cache_config.kv_cache_groups)))

    def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> tuple[int | None, bool]:
        """Return how many tokens can be restored, None to be asked again; a question without side effects."""
        return self.scheduler.matched(request, num_computed_tokens) if self.scheduler else (0, False)

    def update_state_after_alloc(self, request: Any, blocks: Any, num_external_tokens: int) -> None:
        """Plan the restore of an admitted request."""
        if self.scheduler:
            self.scheduler.allocated(request, blocks.get_block_ids(), num_external_tokens)

    def update_state_before_preempt(self, request: Any, block_ids: Any, num_computed_tokens: int) -> bool:
        """vllm-ascend's hook: save the victim's KV. True lets it wait, to be restored or recomputed, and not end."""
        return self.scheduler.before_preempt(request, block_ids, num_computed_tokens) if self.scheduler else False

    def has_preempted_request(self, req_id: str) -> bool:
        """vllm-ascend's question: whether the request is parked."""
        return self.scheduler is not None and req_id in self.scheduler.ledger.copies

    def build_connector_meta(self, scheduler_output: Any) -> KVConnectorMetadata:
        """Return what the workers do in this step."""
        if self.scheduler is None:
            return StepMetadata(Step(0))
        return StepMetadata(self.scheduler.step(scheduler_output), self._engine)

    def update_connector_output(self, connector_output: Any) -> None:
        """Take in what the workers report."""
        if self.scheduler:
            self.scheduler.worker_output(connector_output)

    def request_finished(self, request: Any, block_ids: list[int]) -> tuple[bool, None]:
        """Forget a request; its blocks may be freed at once."""
        if self.scheduler:
            self.scheduler.finished(request.request_id)
        return False, None

    def request_finished_all_groups(self, request: Any, block_ids: tuple[list[int], ...]) -> tuple[bool, None]:
        """Forget a request of a hybrid model."""
        return self.request_finished(request, [])

    # Worker side

    def register_kv_caches(self, kv_caches: Any) -> None:
        """Take in the device cache and allocate the host pool.

        Raises:
            HostMemoryError: there is no such memory, or it cannot be pinned.
            ValueError: the layout of the cache is unknown, or the budget holds no block.
        """
        if self.worker is None or not self._turn_to_registered(kv_caches):
            return
        try:
            self.worker.register(kv_caches)
        except (OSError, OverflowError, MemoryError) as error:
            raise allocation_error(self.worker.budget, self._ranks, self.default_name, error) from error

    def _turn_to_registered(self, kv_caches: Any) -> bool:
        """Make a new worker side if the engine is not the one that this was made for; False for one without ours."""
        config = get_current_vllm_config_or_none()
        if config is None or config.cache_config is self._cache_config or not config.cache_config.num_gpu_blocks:
            return True
        found = own_transfer(config.kv_transfer_config)
        if found is None:
            return False
        kv_role, extra = found
        num_blocks = config.cache_config.num_gpu_blocks
        cache_bytes = num_blocks * sum(int(region.shape[1]) for region in block_regions(kv_caches, num_blocks))
        options = self._options(extra, kv_role, config.parallel_config, cache_bytes, KVConnectorRole.WORKER)
        self._cache_config = config.cache_config
        self.worker = self.make_worker(options.budget.per_rank_bytes or 0, num_blocks, options)
        SIDES.add(self.worker)
        return True

    @classmethod
    def supports_sleep_mode(cls, kv_transfer_config: Any) -> bool:
        """Yes: a level that frees the device cache resets the prefix cache first, and with it all copies are forgotten.

        The device cache comes back at its old addresses, and the host memory is not the cache's.
        """
        return True

    def unregister_kv_caches(self) -> None:
        """Before the device cache is freed: let the copies end that are under way. Nothing else is registered."""
        if self.worker:
            self.worker.settle()

    def restore_kv_caches(self) -> None:
        """After the device cache is back: nothing to do, it lies where it lay."""

    def handle_preemptions(self, kv_connector_metadata: Any) -> None:
        """Run the step's saves, before anything else of the step touches the freed blocks.

        Raises:
            RuntimeError: the step is of an engine that has no worker side in this process.
        """
        if self._turn_to(kv_connector_metadata) and self.worker:
            self.worker.save(kv_connector_metadata.step)

    def bind_connector_metadata(self, connector_metadata: KVConnectorMetadata) -> None:
        """Keep the step for the calls that follow."""
        super().bind_connector_metadata(connector_metadata)
        self._step = connector_metadata.step if self._turn_to(connector_metadata) else None

    def _turn_to(self, metadata: Any) -> bool:
        """Let the worker side be that of the engine whose step this is; False where there is nothing to do."""
        if self.worker is None or not isinstance(metadata, StepMetadata) or metadata.engine is None:
            return False
        worker = SIDES.of(metadata.engine)
        if worker is None:
            raise RuntimeError(
                f"{self.default_name}: this step is of an engine whose KV cache was never registered in this process"
            )
        self.worker = worker
        return True

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        """Run the step's loads."""
        if self.worker and self._step:
            self.worker.load(self._step)

    def wait_for_layer_load(self, layer_name: str) -> None:
        """Nothing to wait for: loads are over when :meth:`start_load_kv` returns."""

    def save_kv_layer(self, layer_name: str, kv_layer: Any, attn_metadata: Any, **kwargs: Any) -> None:
        """Nothing is saved layer by layer."""

    def wait_for_save(self) -> None:
        """Nothing to wait for: saves are over when :meth:`handle_preemptions` returns."""

    def get_finished(self, finished_req_ids: set[str]) -> tuple[None, set[str] | None]:
        """Return the requests whose asynchronous restore is over."""
        return None, (self.worker.take_loaded() or None) if self.worker else None

    def get_block_ids_with_load_errors(self) -> set[int]:
        """Return the device blocks whose restore failed."""
        return self.worker.take_invalid() if self.worker else set()

    def build_connector_worker_meta(self) -> WorkerReport | None:
        """Report what is over, when the step asks for it."""
        return self.worker.report(self._step) if self.worker and self._step else None

    def shutdown(self) -> None:
        """Give the host memory back."""
        SIBLINGS.remove(self)
        if self.scheduler:
            self.scheduler.close()
        for worker in (self.worker, self._worker_here):
            if worker:
                worker.close()

    # Statistics

    def get_kv_connector_stats(self) -> OffloadStats | None:
        """Return what was counted since the last call."""
        return self.scheduler.stats() if self.scheduler else None

    @classmethod
    def build_kv_connector_stats(cls, data: dict[str, Any] | None = None) -> OffloadStats:
        """Rebuild statistics that travelled as a dict."""
        return OffloadStats(data=data) if data is not None else OffloadStats()

    @classmethod
    def build_prom_metrics(
        cls, vllm_config: Any, metric_types: Any, labelnames: list[str], per_engine_labelvalues: Any
    ) -> OffloadPromMetrics:
        """Return the Prometheus side."""
        return OffloadPromMetrics(vllm_config, metric_types, labelnames, per_engine_labelvalues)


class PreemptOffloadConnector(RecomputeCPUOffloadConnector):
    """The same under the later upstream name, whose default budget is as large as the device's KV cache."""

    default_name = NEW_NAME
