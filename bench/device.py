"""Copies to and from a device: bandwidth, and what a save or restore adds to the compute stream and to the host.

One prepared script for one GPU (or an NPU with torch_npu), in at most five minutes. MLA-like shape (61 tensors of
128 × 576 bf16 a block), 16 to 128 blocks in random order, host memory pinned by the device's own call. Compared in
turn, medians:

  bound     one large asynchronous copy between device and pinned host memory
  loop      one blocking copy per block and tensor, with a synchronisation before and after, as upstream does it
  torch     the default backend: gather on the device, blocking copies
  staged    ``copy_backend: staged``: through the staging area; ``gather`` is the time it takes in the compute stream
  batched   ``copy_backend: batched``: the device's batched memcpy

First all blocks are checked: saved, overwritten at once, restored elsewhere, compared. Without a device it says so and
ends with status 3.

    python -m bench.device
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from bench.copies import SHAPES
from bench.measure import finish, parser
from pd_launch.connector.copying.backend import CopyBackend
from pd_launch.connector.copying.batched import BatchedCopies
from pd_launch.connector.copying.choose import TorchCopies
from pd_launch.connector.copying.staging import StagedCopies
from pd_launch.connector.hostmem import registrar
from pd_launch.connector.pool import HostPool

BUDGET_SECONDS = 270
SHAPE = SHAPES["MLA"]
BLOCKS = (16, 64, 128)
SMOKE_BLOCKS = (4,)
NO_DEVICE = 3


def find_device() -> torch.device | None:
    """Return the first device with streams, None without one."""
    for name in ("cuda", "npu"):
        api = getattr(torch, name, None)
        if api is not None and api.is_available():
            return torch.device(name, 0)
    return None


class Bed:
    """A device cache, pinned host memory in both layouts, and the backends on them.

    Args:
        device: the device.
        blocks: blocks that are copied; the cache has twice as many.
    """

    def __init__(self, device: torch.device, blocks: int) -> None:
        self.api: Any = getattr(torch, device.type)
        self.device = device
        self.size = SHAPE.tensors * blocks * SHAPE.width
        widths = [SHAPE.width] * SHAPE.tensors
        generator = torch.Generator(device=device).manual_seed(1)
        self.cache = [
            torch.randint(0, 256, (2 * blocks, SHAPE.width), dtype=torch.uint8, device=device, generator=generator)
            for _ in widths
        ]
        self.pools = {major: HostPool(self.size, widths, major) for major in (False, True)}
        pin = registrar(device)
        self.pinned = pin is not None and min(pool.pin(pin) for pool in self.pools.values())
        draw = random.Random(0).sample(range(2 * blocks), 2 * blocks)
        self.source, self.target = draw[:blocks], draw[blocks:]
        self.host = list(range(blocks))
        self.flat = torch.empty(self.size, dtype=torch.uint8, device=device)
        row = self.pools[False].regions[0]
        self.flat_host = row.as_strided((self.size,), (1,))

    def backends(self) -> dict[str, CopyBackend]:
        """Return what can be made here; say what cannot."""
        made: dict[str, CopyBackend] = {"torch": TorchCopies(self.cache, self.pools[False].regions)}
        makers: dict[str, Callable[[], CopyBackend]] = {
            "staged": lambda: StagedCopies(self.cache, self.pools[True].regions),
            "batched": lambda: BatchedCopies(self.cache, self.pools[True].regions),
        }
        for name, make in makers.items():
            try:
                made[name] = make()
            except (RuntimeError, ValueError) as error:
                print(f"{name} left out: {error}")
        return made

    def check(self, name: str, copies: CopyBackend) -> None:
        """Save, overwrite at once, restore elsewhere, compare.

        Raises:
            RuntimeError: a block came back wrong.
        """
        ids = torch.tensor(self.source, device=self.device)
        before = [region[ids].clone() for region in self.cache]
        copies.save(self.source, self.host)
        for region in self.cache:
            region[ids] = 7
        copies.load(self.target, self.host)
        at = torch.tensor(self.target, device=self.device)
        good = all(bool((region[at] == kept).all()) for region, kept in zip(self.cache, before, strict=True))
        if not good:
            raise RuntimeError(f"{name}: blocks came back wrong")
        for region, kept in zip(self.cache, before, strict=True):
            region[ids] = kept

    def loop(self, to_host: bool) -> None:
        """Copy as upstream does."""
        self.api.synchronize()
        for device, host in zip(self.cache, self.pools[False].regions, strict=True):
            for d, h in zip(self.source, self.host, strict=True):
                if to_host:
                    host[h].copy_(device[d])
                else:
                    device[d].copy_(host[h])
        self.api.synchronize()

    def bound(self, to_host: bool) -> None:
        """Copy as many bytes at once."""
        if to_host:
            self.flat_host.copy_(self.flat, non_blocking=True)
        else:
            self.flat.copy_(self.flat_host, non_blocking=True)

    def close(self) -> None:
        """Give the memory back."""
        self.api.synchronize()
        del self.flat_host
        for pool in self.pools.values():
            pool.close()


def timed(bed: Bed, run: Callable[[], object]) -> tuple[float, float, float]:
    """Return seconds until all is over, seconds in the compute stream, seconds of the host in the call."""
    bed.api.synchronize()
    first, last = (bed.api.Event(enable_timing=True) for _ in range(2))
    begin = time.perf_counter()
    first.record()
    run()
    last.record()
    issued = time.perf_counter() - begin
    bed.api.synchronize()
    whole = time.perf_counter() - begin
    return whole, first.elapsed_time(last) / 1e3, issued


def measure(bed: Bed, blocks: int, rounds: int, deadline: float) -> list[dict[str, Any]]:
    """Return one row per way and direction."""
    made = bed.backends()
    for name, copies in made.items():
        bed.check(name, copies)
    runs: dict[tuple[str, str], Callable[[], object]] = {}
    for way in ("save", "load"):
        runs[way, "bound"] = lambda w=way: bed.bound(w == "save")  # type: ignore[misc]
        runs[way, "loop"] = lambda w=way: bed.loop(w == "save")  # type: ignore[misc]
        for name, copies in made.items():
            runs[way, name] = lambda c=copies, w=way: getattr(c, w)(bed.source, bed.host)  # type: ignore[misc]
    for name, copies in made.items():
        runs["aside", name] = lambda c=copies: c.load_aside(bed.source, bed.host)  # type: ignore[misc]
    seconds: dict[tuple[str, str], list[tuple[float, float, float]]] = {key: [] for key in runs}
    for round_ in range(rounds + 1):
        for key, run in runs.items():
            if time.monotonic() < deadline:
                seconds[key] += [timed(bed, run)] if round_ else []
                if not round_:
                    run()
    for copies in made.values():
        copies.close()
    rows = []
    for (way, name), each in seconds.items():
        if not each:
            continue
        whole, stream, issued = (statistics.median(values) for values in zip(*each, strict=True))
        row = {
            "way": way,
            "how": name,
            "blocks": blocks,
            "mib": bed.size >> 20,
            "gbps": round(bed.size / whole / 1e9, 2),
        }
        row |= {"compute_stream_ms": round(stream * 1e3, 3), "host_ms": round(issued * 1e3, 3), "pinned": bed.pinned}
        rows.append(row)
    return rows


def gather_time(bed: Bed, rounds: int) -> float:
    """Return the seconds of a bare gather of the same blocks within the device: the least that a save adds."""
    ids = torch.tensor(bed.source, device=bed.device)
    rows = torch.empty((len(ids), SHAPE.width // 8), dtype=torch.int64, device=bed.device)

    def gather() -> None:
        for region in bed.cache:
            torch.index_select(region.view(torch.int64), 0, ids, out=rows)

    gather()
    return statistics.median(timed(bed, gather)[1] for _ in range(rounds))


def main() -> None:
    given = parser(__doc__).parse_args()
    device = find_device()
    if device is None:
        print(
            "bench.device needs a CUDA GPU or an NPU with torch_npu, and this machine shows none: nothing was "
            "measured. The CPU's copies are measured by bench.copies.",
            file=sys.stderr,
        )
        sys.exit(NO_DEVICE)
    deadline = time.monotonic() + BUDGET_SECONDS
    rows: list[dict[str, Any]] = []
    for blocks in SMOKE_BLOCKS if given.smoke else BLOCKS:
        bed = Bed(device, blocks)
        part = measure(bed, blocks, 1 if given.smoke else given.rounds, deadline)
        part.append({"way": "gather", "how": "bare", "blocks": blocks, "ms": round(1e3 * gather_time(bed, 3), 3)})
        for row in part:
            print(row, flush=True)
        rows += part
        bed.close()
    finish("device", rows, given, [f"device: {getattr(torch, device.type).get_device_name(device)}"])


if __name__ == "__main__":
    main()
