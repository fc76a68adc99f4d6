"""Worker side: registers the device cache, runs a step's saves and loads, reports what is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

from vllm.logger import init_logger

from pd_launch.connector.copying.backend import CopyBackend, Ticket
from pd_launch.connector.copying.choose import AUTO, Choice, Make, choose
from pd_launch.connector.hostmem import device_node, registrar
from pd_launch.connector.limits import no_block
from pd_launch.connector.metadata import WorkerReport
from pd_launch.connector.metrics import FALLBACK, Counts
from pd_launch.connector.pool import HostPool
from pd_launch.connector.regions import Caches, block_regions
from pd_launch.connector.wording import Wording
from pd_launch.schemas.offload.ledger import Step, Transfer

logger = init_logger(f"vllm.{__name__}")
SETTLE_SECONDS = 60.0

Call = Callable[[list[int], list[int]], "Ticket | None"]


@dataclass
class _UnderWay:
    """A copy that was issued in a step and may not be over."""

    step: int
    transfer: Transfer
    ticket: Ticket
    is_save: bool


class OffloadWorker:
    """One rank's copies: issued by :meth:`save` and :meth:`load`, over when their tickets say so.

    Args:
        budget: bytes of host memory for this rank.
        num_blocks: blocks of the device cache, the null block included.
        block_bytes: bytes per block that the scheduler counts with; what the tensors take must not be more.
        words: how this connector calls itself in logs.
        pin: register the host memory with the device.
        copy_backend: the wish of that option.
        make: makes another copy backend than the device's own, for a region-major pool.
        touch: back all of the host memory with pages at start.
    """

    def __init__(
        self,
        budget: int,
        num_blocks: int,
        words: Wording,
        pin: bool = False,
        copy_backend: str = AUTO,
        make: Make | None = None,
        touch: bool = False,
    ) -> None:
        self.budget = budget
        self._num_blocks = num_blocks
        self._words = words
        self._pin = pin
        self._wanted = copy_backend
        self._make = make
        self._touch = touch
        self._pool: HostPool | None = None
        self._copies: CopyBackend | None = None
        self._seen = 0  # the last step whose saves were issued
        self._begun: Step | None = None  # the last step whose loads were issued
        self._under_way: list[_UnderWay] = []
        self._loaded: set[str] = set()  # requests whose asynchronous load is over, for the next report
        self._failed: set[int] = set()  # host blocks that hold nothing because their save failed
        self._invalid: set[int] = set()
        self.counts = Counts()

    def register(self, caches: Caches) -> None:
        """Take in the device cache and allocate the host pool; again, where the engine has a new one.

        Raises:
            LayoutError: the blocks of a tensor cannot be found.
            ValueError: the budget does not hold one block.
            OSError: the host memory cannot be mapped or pinned.
        """
        again = self._pool is not None
        self.close()
        regions = block_regions(caches, self._num_blocks)
        device = regions[0].device
        choice = choose(device, self._wanted)
        if self._make is not None:
            choice = Choice("given", False, self._make)
        widths = [int(region.shape[1]) for region in regions]
        self._pool = HostPool(self.budget, widths, choice.block_major, device_node(device))
        if not self._pool.blocks:
            raise ValueError(no_block(self._words.connector, self.budget, sum(widths)))
        if self._pin and (registers := registrar(device)) is not None and not self._pool.pin(registers):
            raise OSError(f"{device} refuses to pin it: set pin_host_memory to false, or allow more locked memory")
        if self._touch:
            self._pool.touch()
        elif not self._pool.pinned:
            self._pool.start_reserve()
        self._copies = choice.make(regions, self._pool.regions)
        if again:
            self._failed = set(range(self._pool.blocks))  # what was saved is gone with the pool of then
        logger.info(
            "%s scaffold registered: %d device blocks, %d host blocks of %d bytes in %d regions on %s, pinned=%s, "
            "copies=%s, NUMA node=%s",
            self._words.worker,
            self._num_blocks,
            self._pool.blocks,
            self._pool.block_bytes,
            len(regions),
            device,
            self._pool.pinned,
            choice.name,
            self._pool.node,
        )

    def save(self, step: Step) -> None:
        """Issue the saves of a step; called first in it, before anything else touches the device cache."""
        if step.number <= self._seen:
            return  # some runners call twice
        reserve = self._pool.reserve if self._pool is not None else None
        with reserve.lock if reserve is not None else nullcontext():
            if reserve is not None:
                written = max((max(transfer.host) + 1 for transfer in step.saves), default=0)
                reserve.note(step.used_below, min(written, self._pool_blocks()))
            for transfer in step.saves:
                self._save(step.number, transfer)
        self._seen = step.number

    def _pool_blocks(self) -> int:
        return self._pool.blocks if self._pool else 0

    def _save(self, number: int, transfer: Transfer) -> None:
        self._failed.difference_update(transfer.host)
        begin = time.perf_counter()
        try:
            copies, pool = self._ready()
            if max(transfer.host) >= pool.blocks:
                raise ValueError(f"host block {max(transfer.host)} does not exist, {pool.blocks} do")
            ticket = copies.save(transfer.device, transfer.host)
        except (RuntimeError, ValueError) as error:  # the request recomputes; the engine goes on
            self._save_failed(transfer, error)
            return
        self.counts.add("save_seconds", time.perf_counter() - begin)
        self.counts.add("saved_bytes", len(transfer.host) * pool.block_bytes)
        if ticket is not None:
            self._under_way.append(_UnderWay(number, transfer, ticket, is_save=True))

    def _save_failed(self, transfer: Transfer, error: Exception) -> None:
        logger.warning("Saving request %s failed, it will be recomputed: %s", transfer.request_id, error)
        self._failed.update(transfer.host)

    def load(self, step: Step) -> None:
        """Issue the loads of a step, after its saves and before the forward pass that reads what they write.

        A second call for a step does nothing: vLLM would be told twice that an asynchronous load is over.
        """
        if step is self._begun:
            return
        for transfer in step.loads:
            self._load(step.number, transfer)
        self._begun = step

    def _load(self, number: int, transfer: Transfer) -> None:
        begin = time.perf_counter()
        try:
            copies, pool = self._ready()
            if not self._failed.isdisjoint(transfer.host):
                raise ValueError("its blocks were not saved")
            if transfer.missing:
                raise ValueError(f"device blocks {transfer.missing} wait for what was never saved")
            call: Call = copies.load_aside if transfer.asynchronous else copies.load
            ticket = call(transfer.device, transfer.host)
        except (RuntimeError, ValueError) as error:
            self._load_failed(transfer, error)
            return
        self.counts.add("restore_seconds", time.perf_counter() - begin)
        self.counts.add("restored_bytes", len(transfer.host) * pool.block_bytes)
        if ticket is not None:
            self._under_way.append(_UnderWay(number, transfer, ticket, is_save=False))
        elif transfer.asynchronous:
            self._loaded.add(transfer.request_id)

    def _load_failed(self, transfer: Transfer, error: Exception) -> None:
        logger.warning("Restoring request %s failed: %s", transfer.request_id, error)
        self._invalid.update(transfer.device, transfer.missing)
        self.counts.add(FALLBACK + "load_failed")
        if transfer.asynchronous:
            self._loaded.add(transfer.request_id)

    def _poll(self) -> None:
        """Take in which copies are over. Nothing to do in most steps."""
        if self._under_way:
            self._under_way = [copy for copy in self._under_way if not self._is_over(copy)]

    def settle(self, seconds: float = SETTLE_SECONDS) -> bool:
        """Wait until no copy is under way; False where some is after that time."""
        deadline = time.monotonic() + seconds
        self._poll()
        while self._under_way and time.monotonic() < deadline:
            time.sleep(0.001)
            self._poll()
        return not self._under_way

    def _is_over(self, copy: _UnderWay) -> bool:
        try:
            if not copy.ticket.done():
                return False
        except (RuntimeError, ValueError) as error:
            (self._save_failed if copy.is_save else self._load_failed)(copy.transfer, error)
            return True
        if copy.transfer.asynchronous:
            self._loaded.add(copy.transfer.request_id)
        return True

    def _ready(self) -> tuple[CopyBackend, HostPool]:
        if self._copies is None or self._pool is None:
            raise ValueError("the KV cache was not registered")
        return self._copies, self._pool

    def report(self, step: Step) -> WorkerReport | None:
        """Return what is over, if the scheduler waits for it."""
        if not step.report:
            return None
        self._poll()
        done = min((copy.step - 1 for copy in self._under_way), default=self._seen)
        return WorkerReport(done, self._pool_blocks(), set(self._failed), self.counts.totals())

    def take_loaded(self) -> set[str]:
        """Return the requests whose asynchronous load ended, well or not, since the last call."""
        self._poll()
        loaded, self._loaded = self._loaded, set()
        return loaded

    def take_invalid(self) -> set[int]:
        """Return the device blocks whose load failed since the last call."""
        invalid, self._invalid = self._invalid, set()
        return invalid

    def close(self) -> None:
        """Give the host memory back."""
        if self._copies:
            self._copies.close()
            self._copies = None
        if self._pool:
            self._pool.close()
            self._pool = None
