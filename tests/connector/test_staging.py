"""Staged and batched copies on lanes that run their work in any order that the events allow."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from pd_launch.connector.copying.batched import BatchedCopies, batched_copy  # noqa: E402
from pd_launch.connector.copying.choose import CpuCopies, TorchCopies, choose  # noqa: E402
from pd_launch.connector.copying.staging import SLOTS, StagedCopies  # noqa: E402
from pd_launch.connector.pool import HostPool  # noqa: E402

WIDTHS = (24, 40, 16)
BLOCK = sum(WIDTHS)
BLOCKS = 12
CONTENT = 7  # what compute writes into freed blocks


@dataclass(eq=False)
class Mark:
    """An event: reached when its lane has run all work up to it."""

    lane: Track
    position: int

    def query(self) -> bool:
        return self.lane.ran >= self.position

    def synchronize(self) -> None:
        while not self.query():
            self.lane.lanes.run_one()


@dataclass(eq=False)
class Track:
    """A lane: work and waits, run in order."""

    lanes: Tracks
    work: list[Callable[[], None] | Mark] = field(default_factory=list)
    ran: int = 0

    def do(self, work: Callable[[], None]) -> None:
        self.work.append(work)

    def record(self) -> Mark:
        return Mark(self, len(self.work))

    def wait(self, event: Mark) -> None:
        self.work.append(event)

    def ready(self) -> bool:
        if self.ran == len(self.work):
            return False
        head = self.work[self.ran]
        return head.query() if isinstance(head, Mark) else True

    def run_one(self) -> None:
        head = self.work[self.ran]
        if not isinstance(head, Mark):
            head()
        self.ran += 1


class Tracks:
    """Lanes of a device that exists only here: who goes next is drawn."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.all: list[Track] = []
        self.compute = self.side()

    def current(self) -> Track:
        return self.compute

    def side(self) -> Track:
        self.all.append(Track(self))
        return self.all[-1]

    def run_one(self) -> bool:
        ready = [lane for lane in self.all if lane.ready()]
        if ready:
            self.draw.choice(ready).run_one()
        return bool(ready)

    def run_all(self) -> None:
        while self.run_one():
            pass
        assert all(lane.ran == len(lane.work) for lane in self.all), "lanes wait for each other for ever"


def move(sources: Any, targets: Any, sizes: Any, to_host: bool) -> None:
    for source, target, size in zip(sources.tolist(), targets.tolist(), sizes.tolist(), strict=True):
        ctypes.memmove(target, source, size)


class Bed:
    """A device cache, a host pool and the copies between them, on drawn lanes."""

    def __init__(self, kind: str, seed: int, area: int = 2 * SLOTS * BLOCK) -> None:
        self.tracks = Tracks(seed)
        whole = torch.randint(0, 256, (BLOCKS, BLOCK), dtype=torch.uint8)
        self.cache = [part.contiguous() for part in whole.split(WIDTHS, dim=1)]
        self.pool = HostPool(10 * BLOCK, WIDTHS, block_major=True)
        self.copies: Any
        if kind == "staged":
            self.copies = StagedCopies(self.cache, self.pool.regions, self.tracks, area, area)
        else:
            self.copies = BatchedCopies(self.cache, self.pool.regions, move, self.tracks)

    def content(self, block: int) -> list[list[int]]:
        return [region[block].tolist() for region in self.cache]

    def overwrite(self, blocks: list[int]) -> None:
        """Let the model write into blocks, as it does when others have got them."""
        self.tracks.compute.do(lambda: [region[blocks].fill_(0) for region in self.cache] and self._fill(blocks))

    def _fill(self, blocks: list[int]) -> None:
        for region in self.cache:
            region[blocks] = CONTENT


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["staged", "batched"])
def test_saved_blocks_may_be_overwritten_at_once_and_come_back(kind: str, seed: int) -> None:
    bed = Bed(kind, seed)
    source = [3, 9, 1, 7, 4, 10, 2]  # more than a slot holds, more than all slots' turn
    host = [2, 3, 4, 8, 0, 1, 6]
    before = [bed.content(block) for block in source]
    ticket = bed.copies.save(source, host)
    bed.overwrite(source)
    target = [11, 5, 3, 8, 6, 2, 9]
    bed.copies.load(target, host)  # in the same step: the blocks are still being saved
    seen: list[Any] = []
    bed.tracks.compute.do(lambda: seen.extend(bed.content(block) for block in target))  # what the model reads
    bed.tracks.run_all()
    assert ticket.done()
    assert seen == before


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", ["staged", "batched"])
def test_a_load_aside_waits_for_the_save_of_its_target(kind: str, seed: int) -> None:
    bed = Bed(kind, seed)
    first, second = [1, 2, 3], [4, 5, 6]
    kept = [bed.content(block) for block in first], [bed.content(block) for block in second]
    bed.copies.save(first, [0, 1, 2])
    bed.copies.save(second, [3, 4, 5])  # this victim's blocks are given to the first request, which comes back aside
    ticket = bed.copies.load_aside(second, [0, 1, 2])
    while not ticket.done():
        assert bed.tracks.run_one()
    assert [bed.content(block) for block in second] == kept[0]
    bed.copies.load([7, 8, 9], [3, 4, 5])
    bed.tracks.run_all()
    assert [bed.content(block) for block in (7, 8, 9)] == kept[1]


@pytest.mark.parametrize("seed", range(5))
def test_many_saves_and_loads_in_any_order(seed: int) -> None:
    bed = Bed("staged", seed, area=SLOTS * BLOCK)  # one block a slot
    draw = random.Random(100 + seed)
    for _ in range(15):
        source = draw.sample(range(BLOCKS), 5)
        host = draw.sample(range(10), 5)
        before = bed.tracks.compute, []
        bed.tracks.compute.do(lambda s=source, out=before[1]: out.extend(bed.content(b) for b in s))
        bed.copies.save(source, host)
        bed.overwrite(source)
        target = draw.sample(range(BLOCKS), 5)
        load = bed.copies.load_aside if draw.random() < 0.3 else bed.copies.load
        ticket = load(target, host)
        for _ in range(draw.randrange(20)):
            bed.tracks.run_one()
        while not ticket.done():
            assert bed.tracks.run_one()
        assert [bed.content(block) for block in target] == before[1]


def test_the_host_never_waits() -> None:
    bed = Bed("staged", 0)
    bed.copies.save([1, 2, 3, 4, 5, 6, 7, 8, 9], list(range(9)))
    bed.copies.load([1, 2, 3], [0, 1, 2])
    bed.copies.load_aside([4, 5, 6], [3, 4, 5])
    assert all(lane.ran == 0 for lane in bed.tracks.all)
    bed.tracks.run_all()


def test_close_waits_for_what_is_under_way() -> None:
    bed = Bed("staged", 0)
    ticket = bed.copies.save([1, 2, 3], [0, 1, 2])
    assert not ticket.done()
    bed.copies.close()
    assert ticket.done()


def test_a_save_that_ignored_the_drain_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without waits between the lanes, some order of them must spoil a copy."""

    def spoiled(seed: int) -> bool:
        bed = Bed("staged", seed, area=SLOTS * BLOCK)
        source, host = [3, 9, 1, 7, 4, 10, 2, 5], [2, 3, 4, 8, 0, 1, 6, 5]
        before = [bed.content(block) for block in source]
        bed.copies.save(source, host)
        bed.tracks.run_all()
        return [[region[h].tolist() for region in bed.pool.regions] for h in host] != before

    assert not any(spoiled(seed) for seed in range(20))
    monkeypatch.setattr(Track, "wait", lambda self, event: None)
    assert any(spoiled(seed) for seed in range(20))


def test_staged_copies_refuse_a_region_major_pool() -> None:
    cache = [torch.zeros((BLOCKS, width), dtype=torch.uint8) for width in WIDTHS]
    with pytest.raises(ValueError, match="block-major"):
        StagedCopies(cache, HostPool(10 * BLOCK, WIDTHS).regions, Tracks(0))


def test_odd_widths_are_copied_byte_by_byte() -> None:
    cache = [torch.randint(0, 256, (BLOCKS, width), dtype=torch.uint8) for width in (5, 3)]
    pool = HostPool(10 * 8, (5, 3), block_major=True)
    tracks = Tracks(0)
    copies = StagedCopies(cache, pool.regions, tracks)
    copies.save([4, 2], [1, 2])
    tracks.run_all()
    assert [region[1].tolist() for region in pool.regions] == [region[4].tolist() for region in cache]


def test_which_backend_serves_which_device() -> None:
    cpu, cuda, other = (torch.device(name) for name in ("cpu", "cuda", "xpu"))
    assert choose(cpu).make is CpuCopies and not choose(cpu).block_major
    assert choose(cuda).make is TorchCopies and choose(other).make is TorchCopies
    assert choose(cuda, "staged").make is StagedCopies and choose(cuda, "staged").block_major
    assert choose(cuda, "batched").make is BatchedCopies
    with pytest.raises(ValueError, match="leave it out"):
        choose(cpu, "staged")
    with pytest.raises(ValueError, match="no batched memcpy for xpu"):
        batched_copy(other)
