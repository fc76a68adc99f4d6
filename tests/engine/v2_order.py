"""The V2 model runner's own connector class, in the order of its execute_model, inside the engine of the CPU.

Its kernels need Triton, and so a device; its connector class, the function that copies blocks and the order of its step
do not. Importing :func:`install` and calling it before the engine is made puts them in place of the V1 runner's:

V2: zero new blocks, copy blocks on write, ``pre_forward`` (save, bind, load), forward pass, ``post_forward``.
V1: save, zero new blocks, copy blocks on write, bind, load, forward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from vllm.config import get_current_vllm_config
from vllm.distributed.kv_transfer import get_kv_transfer_group
from vllm.v1.worker import gpu_model_runner
from vllm.v1.worker.gpu.kv_connector import ActiveKVConnector
from vllm.v1.worker.kv_connector_model_runner_mixin import KVConnectorModelRunnerMixin


class Runner:
    """What the V1 runner is given as its connector: it saves nothing first, and the V2 class does all of it later."""

    def __init__(self, twice: bool) -> None:
        self.twice = twice
        self.active: Any = None
        self.steps = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(get_kv_transfer_group(), name)

    def handle_preemptions(self, metadata: Any) -> None:
        """Too early for V2."""

    def register_kv_caches(self, caches: Any) -> None:
        self.active = ActiveKVConnector(get_current_vllm_config(), caches)

    @contextmanager
    def output(self, scheduler_output: Any, defer_finalize: bool = False, **more: Any) -> Iterator[Any]:
        self.steps += 1
        if self.twice:
            self.active.pre_forward(scheduler_output)
        self.active.pre_forward(scheduler_output)
        into = gpu_model_runner.KVConnectorOutput()
        try:
            yield into
        finally:
            finish = getattr(self.active, "finish_forward", None)
            if finish is not None:
                finish()
            found = self.active.post_forward(scheduler_output.finished_req_ids)
            vars(into).update(vars(found))


def install(twice: bool = False, zeroing: bool = False) -> Runner:
    """Put V2's order in place. ``twice``: as releases that call the hook twice. ``zeroing``: new blocks are zeroed."""
    runner = Runner(twice)
    gpu_model_runner.get_kv_transfer_group = lambda: runner
    KVConnectorModelRunnerMixin._get_kv_connector_output = staticmethod(runner.output)
    KVConnectorModelRunnerMixin.finalize_kv_connector = staticmethod(lambda: None)
    if zeroing:
        from vllm.v1.kv_cache_interface import KVCacheConfig

        KVCacheConfig.needs_kv_cache_zeroing = property(lambda config: True)
    return runner
