"""Copies through a bounded staging area in device memory, beside the model's compute and ordered with it by events.

Save: the victim's blocks are gathered into the area in the compute stream, at device memory speed; from then on they
may be overwritten. A side stream drains the area to the host. Restore: a side stream fills the area from the host, and
the compute stream (or, for a restore aside, the side stream itself) scatters it. What exceeds the area goes in slots,
which wait for each other on the device. The host waits for nothing.

Not run on a device so far: tested on CPU tensors, with lanes that run their work in any order that the events allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch

from pd_launch.connector.copying.backend import Ticket
from pd_launch.connector.copying.lanes import Event, Lane, Lanes, Point, TorchLanes
from pd_launch.schemas.offload.blocks import runs

SAVE_BYTES = 256 << 20
LOAD_BYTES = 64 << 20
SLOTS = 4
WIDE = torch.int64  # gathers move elements, so few wide ones


@dataclass
class _Slot:
    """A part of the staging area: rows [n, block bytes], and the point from which on it may be written again."""

    rows: torch.Tensor
    columns: list[torch.Tensor]  # the same by region: [n, width]
    free: Event | None = None


class _Area:
    """Slots of one direction, used in turn."""

    def __init__(self, size: int, widths: Sequence[int], device: torch.device) -> None:
        block = sum(widths)
        rows = max(1, size // SLOTS // block)
        self.blocks = rows
        starts = list(accumulate(widths, initial=0))
        self._slots = []
        for _ in range(SLOTS):
            area = torch.empty((rows, block), dtype=torch.uint8, device=device)
            columns = [area[:, start : start + width] for start, width in zip(starts, widths, strict=False)]
            self._slots.append(_Slot(area, columns))
        self._next = 0

    def take(self, writer: Lane) -> _Slot:
        """Return the next slot; the lane that writes it waits until nothing reads it any more."""
        slot = self._slots[self._next]
        self._next = (self._next + 1) % SLOTS
        if slot.free is not None:
            writer.wait(slot.free)
        return slot


class StagedCopies:
    """For a device with streams.

    Args:
        device: uint8 views [blocks, width] of the cache.
        host: uint8 views [host blocks, width] of a block-major pool, in the same order.
        lanes: the device's streams.
        save_bytes: size of the area for saves; what is preempted at once beyond it makes the compute stream wait.
        load_bytes: size of the area for restores.
    """

    def __init__(
        self,
        device: Sequence[torch.Tensor],
        host: Sequence[torch.Tensor],
        lanes: Lanes | None = None,
        save_bytes: int = SAVE_BYTES,
        load_bytes: int = LOAD_BYTES,
    ) -> None:
        widths = [int(region.shape[1]) for region in device]
        self._where = device[0].device
        self._regions = list(device)
        self._host = _rows(host, sum(widths))
        self._lanes = lanes or TorchLanes(self._where)
        self._drain, self._fill = self._lanes.side(), self._lanes.side()
        self._save = _Area(save_bytes, widths, self._where)
        self._load = _Area(load_bytes, widths, self._where)
        self._saving: list[tuple[Event, frozenset[int]]] = []  # host blocks that are still being written

    def save(self, device: Sequence[int], host: Sequence[int]) -> Ticket:
        """Gather now, in the compute stream; drain beside it."""
        compute = self._lanes.current()
        ids = self._ids(device)
        for offset, count in _chunks(len(host), self._save.blocks):
            slot = self._save.take(compute)
            compute.do(lambda s=slot, i=ids[offset : offset + count]: self._gather(s, i))  # type: ignore[misc]
            self._drain.wait(compute.record())
            self._drain.do(lambda s=slot, h=host[offset : offset + count]: self._to_host(s, h))  # type: ignore[misc]
            slot.free = self._drain.record()
        end = self._drain.record()
        self._saving = [(event, blocks) for event, blocks in self._saving if not event.query()]
        self._saving.append((end, frozenset(host)))
        return Point(end)

    def load(self, device: Sequence[int], host: Sequence[int]) -> Ticket:
        """Fill beside the compute stream; scatter in it, before whatever it does next."""
        return self._load_into(self._lanes.current(), device, host)

    def load_aside(self, device: Sequence[int], host: Sequence[int]) -> Ticket:
        """Fill and scatter beside the compute stream, after all that it was given so far."""
        self._fill.wait(self._lanes.current().record())  # the blocks may be a victim's, which is being gathered
        return self._load_into(self._fill, device, host)

    def _load_into(self, scatter: Lane, device: Sequence[int], host: Sequence[int]) -> Ticket:
        for event, blocks in self._saving:
            if not blocks.isdisjoint(host):
                self._fill.wait(event)
        ids = self._ids(device)
        for offset, count in _chunks(len(host), self._load.blocks):
            slot = self._load.take(self._fill)
            self._fill.do(lambda s=slot, h=host[offset : offset + count]: self._to_device(s, h))  # type: ignore[misc]
            if scatter is not self._fill:
                scatter.wait(self._fill.record())
            scatter.do(lambda s=slot, i=ids[offset : offset + count]: self._scatter(s, i))  # type: ignore[misc]
            slot.free = scatter.record()
        return Point(scatter.record())

    def close(self) -> None:
        """Wait for both side streams."""
        for lane in (self._drain, self._fill):
            lane.record().synchronize()

    def _ids(self, device: Sequence[int]) -> torch.Tensor:
        ids = torch.tensor(device, dtype=torch.int64)
        return ids if self._where.type == "cpu" else ids.pin_memory()  # else moving them would stop the host

    def _gather(self, slot: _Slot, ids: torch.Tensor) -> None:
        where = ids.to(self._where, non_blocking=True)
        for region, column in zip(self._regions, slot.columns, strict=True):
            source, target = _wide(region, column[: len(ids)])
            torch.index_select(source, 0, where, out=target)

    def _scatter(self, slot: _Slot, ids: torch.Tensor) -> None:
        where = ids.to(self._where, non_blocking=True)
        for region, column in zip(self._regions, slot.columns, strict=True):
            target, source = _wide(region, column[: len(ids)])
            target.index_copy_(0, where, source)

    def _to_host(self, slot: _Slot, host: Sequence[int]) -> None:
        offset = 0
        for start, count in runs(host):
            self._host[start : start + count].copy_(slot.rows[offset : offset + count], non_blocking=True)
            offset += count

    def _to_device(self, slot: _Slot, host: Sequence[int]) -> None:
        offset = 0
        for start, count in runs(host):
            slot.rows[offset : offset + count].copy_(self._host[start : start + count], non_blocking=True)
            offset += count


def _rows(host: Sequence[torch.Tensor], block: int) -> torch.Tensor:
    """Return the rows [host blocks, block bytes] of which a block-major pool's regions are the columns.

    Raises:
        ValueError: the regions are not neighbours in one block.
    """
    first = host[0]
    starts = accumulate((int(region.shape[1]) for region in host), initial=int(first.data_ptr()))
    apart = any(int(region.data_ptr()) != start for region, start in zip(host, starts, strict=False))
    if apart or first.stride(0) != block:
        raise ValueError("staged copies need a block-major host pool")
    return first.as_strided((int(first.shape[0]), block), (block, 1))


def _wide(region: torch.Tensor, column: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return both as 8-byte elements where places, widths and strides are multiples of 8 bytes."""
    size = WIDE.itemsize
    numbers = (n for t in (region, column) for n in (t.shape[1], t.stride(0), t.storage_offset()))
    if any(n % size for n in numbers):
        return region, column
    return region.view(WIDE), column.view(WIDE)


def _chunks(total: int, size: int) -> Iterator[tuple[int, int]]:
    for offset in range(0, total, size):
        yield offset, min(size, total - offset)
