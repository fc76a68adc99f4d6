"""The other ways to keep a preempted request's KV, made to run on a CPU, and what to compare them with.

vLLM's own connectors refuse the CPU or need CUDA streams. The stand-ins here give them copies that are over when they
are issued, by numpy as ours, and change nothing else: what is measured is how they schedule. vllm-ascend's connector
cannot run here; ``Loop`` does what it does: one blocking copy per block and tensor, and a restore that costs an engine
step.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from vllm.v1.kv_offload.base import OffloadingWorker, TransferResult
from vllm.v1.kv_offload.cpu.spec import CPUOffloadingSpec

from pd_launch.connector import RecomputeCPUOffloadConnector
from pd_launch.connector.copying.choose import CpuCopies
from pd_launch.connector.options import Options
from pd_launch.connector.worker import OffloadWorker


class CpuSpec(CPUOffloadingSpec):  # type: ignore[misc]
    """OffloadingConnector's host tier for a cache in CPU memory."""

    def get_worker(self, kv_caches: Any) -> OffloadingWorker:
        """Return the copies."""
        if self._worker is None:
            chunks = self.num_chunks if hasattr(self, "num_chunks") else self.num_blocks  # up to 0.27
            self._worker = _Copies(kv_caches, chunks)
        return self._worker


class _Copies(OffloadingWorker):  # type: ignore[misc]
    """Stores and loads that are over when they are submitted. One block is one chunk."""

    def __init__(self, kv_caches: Any, chunks: int) -> None:
        self._pairs = []
        for each in kv_caches.tensors:
            device = each.tensor.view(torch.int8).view((-1, each.page_size_bytes)).numpy()
            host = np.zeros((chunks, each.page_size_bytes), dtype=np.int8)
            host.fill(1)  # backed by pages before it is measured, as ours
            self._pairs.append((device, host))
        self._over: list[TransferResult] = []

    def submit_store(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        """Copy to the host."""
        for device, host in self._pairs:
            host[dst_spec.block_ids] = device[src_spec.block_ids]
        return self._end(job_id, len(src_spec.block_ids))

    def submit_load(self, job_id: int, src_spec: Any, dst_spec: Any) -> bool:
        """Copy to the device cache."""
        for device, host in self._pairs:
            device[dst_spec.block_ids] = host[src_spec.block_ids]
        return self._end(job_id, len(dst_spec.block_ids))

    def _end(self, job_id: int, blocks: int) -> bool:
        size = blocks * sum(device.shape[1] for device, _ in self._pairs)
        self._over.append(TransferResult(job_id=job_id, success=True, transfer_size=size, transfer_time=1e-6))
        return True

    def get_finished(self) -> list[TransferResult]:
        """Return what is over."""
        over, self._over = self._over, []
        return over

    def wait(self, job_ids: set[int]) -> None:
        """Nothing is under way."""

    def shutdown(self) -> None:
        """Nothing is under way."""


def simple_on_cpu() -> None:
    """Give SimpleCPUOffloadConnector copies, streams and events that work on a CPU; to be called before."""
    from vllm.v1.simple_kv_offload import worker

    class Over:
        def record(self, *_: Any) -> None:
            pass

        def query(self) -> bool:
            return True

        def synchronize(self) -> None:
            pass

    class Stream:
        def __init__(self, **_: Any) -> None:
            pass

        @staticmethod
        def priority_range() -> tuple[int, int]:
            return 0, 0

    class Backend:
        def init(self, gpu_caches: Any, cpu_caches: Any, *_: Any) -> None:
            self._pairs = [(gpu_caches[name].numpy(), cpu_caches[name].numpy()) for name in gpu_caches]

        def launch_copy(
            self, source: Any, target: Any, is_store: bool, event_idx: int, events_list: Any, wait_event: Any = None
        ) -> None:
            for device, host in self._pairs:
                if is_store:
                    host[target] = device[source]
                else:
                    device[target] = host[source]
            events_list.append((event_idx, Over()))

        def shutdown(self) -> None:
            pass

    class Torch:
        cuda = SimpleNamespace(Stream=Stream, current_stream=lambda: None)
        Event = Over

        def __getattr__(self, name: str) -> Any:
            return getattr(torch, name)

    worker.torch = Torch()
    worker.DmaCopyBackend = Backend


class _LoopCopies(CpuCopies):
    """One blocking copy per block and tensor."""

    def __init__(self, device: Sequence[torch.Tensor], host: Sequence[torch.Tensor]) -> None:
        super().__init__(device, host)
        self._tensors = list(zip(device, host, strict=True))

    def save(self, device: Sequence[int], host: Sequence[int]) -> None:
        for source, target in self._tensors:
            for d, h in zip(device, host, strict=True):
                target[h].copy_(source[d])

    def load(self, device: Sequence[int], host: Sequence[int]) -> None:
        for target, source in self._tensors:
            for d, h in zip(device, host, strict=True):
                target[d].copy_(source[h])

    def load_aside(self, device: Sequence[int], host: Sequence[int]) -> None:  # type: ignore[override]
        self.load(device, host)


class _NoCopies(CpuCopies):
    """Copies nothing: the answers are wrong, the schedule is that of restores that cost nothing."""

    def save(self, device: Sequence[int], host: Sequence[int]) -> None:
        pass

    def load(self, device: Sequence[int], host: Sequence[int]) -> None:
        pass


class Loop(RecomputeCPUOffloadConnector):
    """Our books with upstream's copies; with ``async_restore_bytes: 0``, since its restores are asynchronous ones."""

    def make_worker(self, budget: int, num_blocks: int, options: Options) -> OffloadWorker:
        worker = super().make_worker(budget, num_blocks, options)
        worker._make = _LoopCopies
        return worker


class Free(RecomputeCPUOffloadConnector):
    """Our books with restores that cost nothing."""

    def make_worker(self, budget: int, num_blocks: int, options: Options) -> OffloadWorker:
        worker = super().make_worker(budget, num_blocks, options)
        worker._make = _NoCopies
        return worker
