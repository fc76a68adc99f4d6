"""Words that follow from a number, and lists of names, as people write them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from pd_launch.schemas.core.msg import Msg


def agreeing(number: int, one: str, many: str) -> str:
    """Return the word that goes with so many of something: ``is`` or ``are``, ``needs`` or ``need``."""
    return one if number == 1 else many


def listed(names: Sequence[str], last: Literal["and", "or"] = "and") -> Msg:
    """Return names as a list: ``A``, ``A and B``, ``A, B and C``; in Chinese ``A、B、C``, or ``A、B 或 C``."""
    if len(names) < 2:
        return Msg("".join(names), "".join(names))
    head, tail = names[:-1], names[-1]
    between = "、" if last == "and" else " 或 "
    return Msg(f"{', '.join(head)} {last} {tail}", f"{'、'.join(head)}{between}{tail}")


def series(names: Iterable[str], *, more: bool = False) -> Msg:
    """Return a row of names, as after a colon: ``A, B``, in Chinese ``A、B``; ``more`` adds an ellipsis."""
    row, rest = list(names), " …" if more else ""
    return Msg(", ".join(row) + rest, "、".join(row) + rest)


def joined(parts: Iterable[Msg]) -> Msg:
    """Return several remarks as one, with a semicolon between them."""
    told = [part for part in parts if part]
    return Msg("; ".join(part.en for part in told), "；".join(part.zh for part in told))
