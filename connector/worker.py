"""Worker side: registers the device cache, runs a step's saves and loads, reports what is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import torch
from vllm.logger import init_logger

from pd_launch.connector.copies import CopyBackend, make_copies
from pd_launch.connector.ledger import Step, Transfer
from pd_launch.connector.metadata import WorkerReport
from pd_launch.connector.metrics import FALLBACK, Counts
from pd_launch.connector.pool import HostPool
from pd_launch.connector.regions import Caches, block_regions
from pd_launch.connector.wording import Wording
from pd_launch.schemas.units import human_size

logger = init_logger(f"vllm.{__name__}")

MakeCopies = Callable[[Sequence[torch.Tensor], Sequence[torch.Tensor]], CopyBackend]


class OffloadWorker:
    """One rank's copies. All of them are over when :meth:`save` and :meth:`load` return.

    Args:
        budget: bytes of host memory for this rank.
        num_blocks: blocks of the device cache, the null block included.
        block_bytes: bytes per block that the scheduler counts with; what the tensors take must not be more.
        words: how this connector calls itself in logs.
        pin: register the host memory with CUDA.
        make: chooses the copy backend for the registered regions.
    """

    def __init__(
        self,
        budget: int,
        num_blocks: int,
        words: Wording,
        pin: bool = False,
        make: MakeCopies = make_copies,
    ) -> None:
        self._budget = budget
        self._num_blocks = num_blocks
        self._words = words
        self._pin = pin
        self._make = make
        self._pool: HostPool | None = None
        self._copies: CopyBackend | None = None
        self._done = 0
        self._failed: set[int] = set()  # host blocks that hold nothing because their save failed
        self._invalid: set[int] = set()
        self.counts = Counts()

    def register(self, caches: Caches) -> None:
        """Take in the device cache and allocate the host pool.

        Raises:
            LayoutError: the blocks of a tensor cannot be found.
            ValueError: the budget does not hold one block.
        """
        regions = block_regions(caches, self._num_blocks)
        widths = [region.shape[1] for region in regions]
        self._pool = HostPool(self._budget, widths)
        if not self._pool.blocks:
            raise ValueError(
                f"{self._words.connector}: a budget of {human_size(self._budget)} per rank holds no block of "
                f"{human_size(sum(widths))}; raise cpu_bytes_to_use_per_rank"
            )
        pinned = self._pin and regions[0].device.type == "cuda" and self._pool.pin()
        self._copies = self._make(regions, self._pool.regions)
        logger.info(
            "%s scaffold registered: %d device blocks, %d host blocks of %d bytes in %d regions on %s, pinned=%s",
            self._words.worker,
            self._num_blocks,
            self._pool.blocks,
            self._pool.block_bytes,
            len(regions),
            regions[0].device,
            pinned,
        )

    def save(self, step: Step) -> None:
        """Run the saves of a step; called first in it, before anything else touches the device cache."""
        if step.number <= self._done:
            return  # some runners call twice
        for transfer in step.saves:
            self._save(transfer)
        self._done = step.number

    def _save(self, transfer: Transfer) -> None:
        self._failed.difference_update(transfer.host)
        begin = time.perf_counter()
        try:
            copies, pool = self._ready()
            if max(transfer.host) >= pool.blocks:
                raise ValueError(f"host block {max(transfer.host)} does not exist, {pool.blocks} do")
            copies.save(transfer.device, transfer.host)
        except (RuntimeError, ValueError) as error:  # the request recomputes; the engine goes on
            logger.warning("Saving request %s failed, it will be recomputed: %s", transfer.request_id, error)
            self._failed.update(transfer.host)
            return
        self.counts.add("save_seconds", time.perf_counter() - begin)
        self.counts.add("saved_bytes", len(transfer.host) * pool.block_bytes)

    def load(self, step: Step) -> None:
        """Run the loads of a step, after its saves and before the forward pass that reads what they write."""
        for transfer in step.loads:
            self._load(transfer)

    def _load(self, transfer: Transfer) -> None:
        begin = time.perf_counter()
        try:
            copies, pool = self._ready()
            if not self._failed.isdisjoint(transfer.host):
                raise ValueError("its blocks were not saved")
            copies.load(transfer.device, transfer.host)
        except (RuntimeError, ValueError) as error:
            logger.warning("Restoring request %s failed: %s", transfer.request_id, error)
            self._invalid.update(transfer.device)
            self.counts.add(FALLBACK + "load_failed")
            return
        self.counts.add("restore_seconds", time.perf_counter() - begin)
        self.counts.add("restored_bytes", len(transfer.host) * pool.block_bytes)

    def _ready(self) -> tuple[CopyBackend, HostPool]:
        if self._copies is None or self._pool is None:
            raise ValueError("the KV cache was not registered")
        return self._copies, self._pool

    def report(self, step: Step) -> WorkerReport | None:
        """Return what is over, if the scheduler waits for it."""
        if not step.report:
            return None
        return WorkerReport(self._done, self._pool.blocks if self._pool else 0, set(self._failed), self.counts.totals())

    def take_invalid(self) -> set[int]:
        """Return the device blocks whose load failed since the last call."""
        invalid, self._invalid = self._invalid, set()
        return invalid

    def close(self) -> None:
        """Give the host memory back."""
        self._copies = None
        if self._pool:
            self._pool.close()
            self._pool = None
