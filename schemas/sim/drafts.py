"""Draft tokens: how many of them a step proves right, drawn so that the same seed always draws the same."""

from __future__ import annotations

from pd_launch.schemas.core.record import dataclass

_MASK = (1 << 64) - 1
_STEPS = 60


@dataclass(frozen=True)
class Drafts:
    """Speculative decoding as a scheduler sees it.

    Attributes:
        tokens: ``num_speculative_tokens``, the draft tokens of a request and step.
        chance: that a draft token is right where those before it are.
        lookahead: slots that the drafter needs after the scheduled tokens, none for n-grams, ``tokens`` for EAGLE.
        seed: of the draws.
    """

    tokens: int
    chance: float
    lookahead: int = 0
    seed: int = 0

    def accepted(self, number: int, position: int, drafted: int) -> int:
        """Return how many of the first ``drafted`` tokens after a request's ``position`` are right."""
        count, state = 0, _mixed(self.seed * 0x9E3779B97F4A7C15 + number * 0xD1B54A32D192ED03 + position)
        while count < drafted and state / _MASK < self.chance:
            count += 1
            state = _mixed(state + count)
        return count


def _mixed(value: int) -> int:
    """Return 64 bits that look random (splitmix64's finish)."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def chance_of(rate: float, tokens: int) -> float:
    """Return the chance of one draft token with which so great a share of all ``tokens`` a step is accepted.

    Logs and metrics give that share: accepted of drafted tokens. A token counts only where all before it were right, so
    the chance is higher than the share.
    """
    if not 0.0 < rate < 1.0:
        return min(max(rate, 0.0), 1.0)
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        share = sum(middle**n for n in range(1, tokens + 1)) / tokens
        low, high = (middle, high) if share < rate else (low, middle)
    return (low + high) / 2
