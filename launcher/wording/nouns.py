"""What a launch's ranks run on, in the words of its hardware."""

from __future__ import annotations

from typing import NamedTuple

from pd_launch.schemas.core.launch import NodeLaunch


class Noun(NamedTuple):
    """What holds one rank: ``a card``, ``each card``; in Chinese with its measure word: 张卡, 每张卡."""

    en: str
    zh: str

    @property
    def each_zh(self) -> str:
        """Return ``each card`` in Chinese, to be followed by a blank."""
        return f"每{self.zh}"


CARD = Noun("card", "张卡")
RANK = Noun("rank", "个 rank")


def seat(node: NodeLaunch | None) -> Noun:
    """Return what holds one rank of ``node``: a card, as the guides call every device, or on CPUs the rank itself."""
    on_cpu = node is not None and node.hardware is not None and node.hardware.kind == "cpu"
    return RANK if on_cpu else CARD
