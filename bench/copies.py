"""Copy bandwidth of the CPU backend, both ways, against one large copy and against a loop over blocks and tensors.

Three shapes: MLA-like (61 tensors × 128 × 576 bf16, 9 MiB a block), GQA-like (32 layers × K and V × 128 × 8 × 128 bf16,
16 MiB a block) and MLA-like with blocks of 18 kB. Each is copied from neighbouring and from random device blocks; the
host blocks are a run, as the pool hands them out. Compared in turn:

  bound    one ``torch.Tensor.copy_`` of as many bytes
  memcpy   one ``memmove`` of as many bytes, which for 99 MB and more writes past the caches (on the machine at hand)
  ours     what the connector does: save is device to host, load is host to device
  numpy    the same without :mod:`pd_launch.connector.copying.streaming`, as it is where that cannot be
  loop     one ``copy_`` per block and tensor, which is what upstream's connector does

One thread. Ratios are medians over rounds, of wall-clock and of processor time.

    python -m bench.copies
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bench.measure import finish, parser, ratio, refuse_beyond
from pd_launch.connector.copying.choose import CpuCopies
from pd_launch.connector.pool import HostPool


@dataclass(frozen=True)
class Shape:
    """Tensors of a device cache: how many, and the bytes of one block in each."""

    tensors: int
    width: int
    blocks: tuple[int, ...]


SHAPES = {
    "MLA": Shape(61, 128 * 576 * 2, (16, 64, 128, 256, 512)),
    "GQA": Shape(64, 128 * 8 * 128 * 2, (16, 32, 64, 128)),
    "small": Shape(61, 18_432, (128, 512)),
}
SMOKE = {"MLA": Shape(12, 128 * 576 * 2, (12,)), "small": Shape(3, 18_432, (16,))}


class Bed:
    """A device cache and a host pool, both touched, and what is compared on them.

    Args:
        shape: the tensors.
        blocks: blocks that are copied; the cache has a quarter more.
        order: ``contiguous`` or ``random`` device blocks.
    """

    def __init__(self, shape: Shape, blocks: int, order: str) -> None:
        total = blocks + max(1, blocks // 4)
        self.size = shape.tensors * blocks * shape.width
        self.cache = HostPool(shape.tensors * total * shape.width, [shape.width] * shape.tensors)
        self.pool = HostPool(self.size, [shape.width] * shape.tensors)
        for region in (*self.cache.regions, *self.pool.regions):
            region.fill_(1)
        self.copies = CpuCopies(self.cache.regions, self.pool.regions)
        self.plain = CpuCopies(self.cache.regions, self.pool.regions, past_caches=False)
        ids = range(1, blocks + 1) if order == "contiguous" else random.Random(0).sample(range(total), blocks)
        self.device = list(ids)
        self.host = list(range(blocks))
        self._flat_device = torch.frombuffer(self.cache._memory, dtype=torch.uint8)[: self.size]
        self._flat_host = torch.frombuffer(self.pool._memory, dtype=torch.uint8)[: self.size]

    def runs(self) -> dict[str, Callable[[], object]]:
        """Return what is compared."""
        flat_device, flat_host = self._flat_device.numpy(), self._flat_host.numpy()
        return {
            "bound": lambda: self._flat_host.copy_(self._flat_device),
            "memcpy": lambda: np.copyto(flat_host, flat_device),
            "ours save": lambda: self.copies.save(self.device, self.host),
            "ours load": lambda: self.copies.load(self.device, self.host),
            "numpy save": lambda: self.plain.save(self.device, self.host),
            "numpy load": lambda: self.plain.load(self.device, self.host),
            "loop save": self._loop_save,
            "loop load": self._loop_load,
        }

    def _loop_save(self) -> None:
        for device, host in zip(self.cache.regions, self.pool.regions, strict=True):
            for d, h in zip(self.device, self.host, strict=True):
                host[h].copy_(device[d])

    def _loop_load(self) -> None:
        for device, host in zip(self.cache.regions, self.pool.regions, strict=True):
            for d, h in zip(self.device, self.host, strict=True):
                device[d].copy_(host[h])

    def close(self) -> None:
        """Give the memory back."""
        del self.copies, self.plain, self._flat_device, self._flat_host
        self.cache.close()
        self.pool.close()


def measure(name: str, shape: Shape, blocks: int, order: str, rounds: int) -> dict[str, Any]:
    """Return one row: GB/s of each, by processor time, and the ratios that the goals are about."""
    bed = Bed(shape, blocks, order)
    wall, cpu = both_clocks(bed.runs(), rounds)
    row: dict[str, Any] = {"shape": name, "blocks": blocks, "order": order, "mib": round(bed.size / 2**20)}
    row["gbps"] = {k: round(bed.size / statistics.median(v) / 1e9, 2) for k, v in cpu.items()}
    row["gbps_wall"] = {k: round(bed.size / statistics.median(v) / 1e9, 2) for k, v in wall.items()}
    for way in ("save", "load"):
        for other in ("bound", "memcpy", f"numpy {way}", f"loop {way}"):
            for clock, seconds in (("cpu", cpu), ("wall", wall)):
                ours, theirs = seconds[f"ours {way}"], seconds[other]
                row[f"{way}/{other.split()[0]} {clock}"] = round(ratio(theirs, ours), 2)
    bed.close()
    return row


def both_clocks(
    runs: Mapping[str, Callable[[], object]], rounds: int
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Call each in turn and return wall-clock and processor seconds."""
    for run in runs.values():
        run()
    wall: dict[str, list[float]] = {name: [] for name in runs}
    cpu: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            begin, used = time.perf_counter(), time.thread_time()
            run()
            cpu[name].append(time.thread_time() - used)
            wall[name].append(time.perf_counter() - begin)
    return wall, cpu


def measure_all(shapes: Mapping[str, Shape], rounds: int, limit: int) -> list[dict[str, Any]]:
    """Measure every shape and size that the limit and the free memory allow; say what is left out."""
    torch.set_num_threads(1)
    rows = []
    for name, shape in shapes.items():
        for blocks in shape.blocks:
            refusal = refuse_beyond(int(2.25 * shape.tensors * shape.width * blocks), limit)
            if refusal:
                print(f"{name} {blocks} blocks left out: {refusal}", flush=True)
                continue
            for order in ("contiguous", "random"):
                row = measure(name, shape, blocks, order, rounds)
                rows.append(row)
                print(show(row), flush=True)
    return rows


def show(row: Mapping[str, Any]) -> str:
    """Return one line for people."""
    rates = "  ".join(f"{name} {value:5.2f}" for name, value in row["gbps"].items())
    ratios = "  ".join(
        f"{way}: "
        + ", ".join(f"×{row[f'{way}/{other} cpu']:.2f} {other}" for other in ("bound", "memcpy", "numpy", "loop"))
        for way in ("save", "load")
    )
    return f"{row['shape']:5} {row['blocks']:4} {row['order']:10} GB/s {rates}\n{'':22}{ratios}"


def goals(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the worst ratio for each goal."""
    out = []
    for title, key, chosen, goal in (
        ("of one large copy, contiguous", "bound", {"order": "contiguous"}, 0.9),
        ("of one large copy, random", "bound", {"order": "random"}, 0.8),
        ("of one large memcpy, contiguous", "memcpy", {"order": "contiguous"}, 0.9),
        ("of one large memcpy, random", "memcpy", {"order": "random"}, 0.8),
        ("times the loop, MLA blocks", "loop", {"shape": "MLA"}, 1.3),
        ("times the loop, GQA blocks", "loop", {"shape": "GQA"}, 1.3),
        ("times the loop, small blocks", "loop", {"shape": "small"}, 2.5),
    ):
        fitting = [row for row in rows if all(row[k] == v for k, v in chosen.items())]
        values = [row[f"{way}/{key} cpu"] for row in fitting for way in ("save", "load")]
        if values:
            out.append(f"×{min(values):.2f} to ×{max(values):.2f} {title} (goal: {goal})")
    return out


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--limit-gib", type=float, default=14, help="take no more memory than this (default: 14)")
    given = options.parse_args()
    rounds = 1 if given.smoke else given.rounds
    rows = measure_all(SMOKE if given.smoke else SHAPES, rounds, int(given.limit_gib * 2**30))
    finish("copies", rows, given, goals(rows))


if __name__ == "__main__":
    main()
