"""Host blocks with counted references: shared by equal content, free only when no copy touches them. Pure Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pd_launch.schemas.offload.blocks import HostBlocks

Key = tuple[int, object]  # a KV cache group and the prefix hash of one of its full blocks


def key_of(g: int, i: int, hashes: Sequence[Sequence[object]] | None) -> Key | None:
    """Return the key of position ``i`` of group ``g``; None where its content has no hash."""
    if hashes is None or i >= len(hashes[g]):
        return None
    return g, hashes[g][i]


class Shelf:
    """A block is free, or parked requests refer to it, or it drains: only a worker's copy still touches it."""

    def __init__(self, total: int) -> None:
        self.blocks = HostBlocks(total)
        self.done = 0  # every worker has run all steps up to this one
        self._touched: dict[int, int] = {}  # block → last step that reads or writes it
        self._draining: dict[int, list[int]] = {}  # step → blocks that are free once it is done
        self._references: dict[int, int] = {}
        self._shared: dict[Key, int] = {}
        self._keys: dict[int, Key] = {}

    @property
    def is_draining(self) -> bool:
        """Whether blocks wait for a step to be reported."""
        return bool(self._draining)

    def draining(self) -> list[int]:
        """Return the blocks that wait for a step to be reported."""
        return [block for blocks in self._draining.values() for block in blocks]

    def find(self, key: Key) -> int | None:
        """Return the block that holds this content."""
        return self._shared.get(key)

    def take(self, count: int) -> list[int]:
        """Take free blocks, each with one reference.

        Raises:
            ValueError: fewer are free.
        """
        taken = self.blocks.take(count)
        for block in taken:
            self._references[block] = 1
        return taken

    def share(self, block: int) -> None:
        """Add a reference to a block in use."""
        self._references[block] += 1

    def name(self, block: int, key: Key) -> None:
        """Let others find a block by its content; of equal ones the first."""
        if self._shared.setdefault(key, block) == block:
            self._keys[block] = key

    def forget_names(self) -> None:
        """Share no block of now any more: its content is stale."""
        self._shared.clear()
        self._keys.clear()

    def touch(self, blocks: Iterable[int], step: int) -> None:
        """Note that a step reads or writes blocks."""
        for block in blocks:
            self._touched[block] = step

    def give(self, blocks: Iterable[int]) -> None:
        """Take one reference away from each block; those without any are free as soon as no copy touches them."""
        free: list[int] = []
        for block in blocks:
            self._references[block] -= 1
            if self._references[block]:
                continue
            del self._references[block]
            key = self._keys.pop(block, None)
            if key is not None:
                del self._shared[key]
            last = self._touched.pop(block)
            if last <= self.done:
                free.append(block)
            else:
                self._draining.setdefault(last, []).append(block)
        self.blocks.give(free)

    def advance(self, done: int) -> None:
        """Free what waited for the steps up to ``done``; an earlier number than before changes nothing."""
        self.done = max(self.done, done)
        for step in [s for s in self._draining if s <= self.done]:
            self.blocks.give(self._draining.pop(step))
