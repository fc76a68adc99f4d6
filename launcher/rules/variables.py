"""What the rules on environment variables share: where a name is, whether it is set, near names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from pd_launch.schemas.core.launch import EnvVar, NodeLaunch
from pd_launch.schemas.core.values import Origin

_SHORT, _LONG = 6, 8


def place_of(variable: EnvVar) -> Origin:
    """Return where a variable's name is written; where that is not known, the place of its value."""
    return variable.value.key or variable.value.origin


def is_set(node: NodeLaunch, name: str) -> bool:
    """Whether a variable is set to something, known or not."""
    found = node.env.get(name)
    return found is not None and found.value.value not in ("", None)


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` is probably a slip of, or None.

    A slip is one wrong word of the name, a lost or added underscore, words in another order, or, in a long name of
    vLLM's, a lost word. Names that differ only in digits, in a word of two or three letters (TP, DP), or in a first
    word that is right in itself (HCCL, NCCL), are taken for names of their own.
    """
    return _nearest(name, known if isinstance(known, frozenset) else tuple(known))  # its hash is known


@lru_cache(maxsize=4096)
def _nearest(name: str, known: tuple[str, ...] | frozenset[str]) -> str | None:
    """Look a name up once, in however many engines it is set."""
    families = _families(known)
    plain = name.upper().replace("-", "_")
    digits = re.sub(r"\D", "", plain)
    slips = [
        (distance, re.sub(r"\D", "", other) != digits, other)
        for other in known
        if other != name and (distance := _slip(plain, other, families)) is not None
    ]
    return min(slips)[2] if slips else None


@lru_cache(maxsize=16)
def _families(known: tuple[str, ...] | frozenset[str]) -> set[str]:
    return {other.partition("_")[0] for other in known}


def _slip(name: str, other: str, families: set[str]) -> int | None:
    if name == other:
        return 0
    if len(name) < _LONG or re.sub(r"\d", "", name) == re.sub(r"\d", "", other):
        return None
    if name.replace("_", "") == other.replace("_", ""):
        return 1
    words, others = name.split("_"), other.split("_")
    if len(others) == len(words) + 1 and words[0] == "VLLM" and len(words) >= 4:
        return 2 if any(others[:i] + others[i + 1 :] == words for i in range(len(others))) else None
    if len(words) != len(others) or len(words) == 1 or (words[0] != others[0] and words[0] in families):
        return None
    if sorted(words) == sorted(others):
        return 1
    wrong = [(a, b) for a, b in zip(words, others, strict=True) if a != b]
    return _word_slip(*wrong[0], len(name)) if len(wrong) == 1 else None


def _word_slip(one: str, other: str, length: int) -> int | None:
    shorter = min(len(one), len(other))
    lost_end = abs(len(one) - len(other)) == 1 and one[:shorter] == other[:shorter]
    if shorter < 4 and not (shorter == 3 and lost_end and length >= 2 * _LONG):
        return None
    distance = edit_distance(one, other)
    return distance if distance <= (1 if shorter < _SHORT else 2) else None


def edit_distance(one: str, other: str) -> int:
    """Return how many letters must be changed, added, taken out or swapped with their neighbour."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            best = min(rows[-1][j] + 1, row[j - 1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]
