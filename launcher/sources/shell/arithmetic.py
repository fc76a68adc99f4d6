"""Arithmetic of a shell script, and the sequences that its loops count through: of what is known."""

from __future__ import annotations


def operate(operator: str, left: int | None, right: int | None) -> int | None:
    """Return what an operator makes of two integers; None where one is not known, or the result is not."""
    if left is None or right is None:
        return None
    if operator in ("/", "%"):
        if right == 0:
            return None
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if operator == "/" else left - quotient * right
    results = {
        "+": left + right,
        "-": left - right,
        "<": int(left < right),
        "<=": int(left <= right),
        ">": int(left > right),
        ">=": int(left >= right),
        "!=": int(left != right),
        "==": int(left == right),
    }
    return left * right if operator == "*" else results.get(operator)


def counted_up(numbers: list[int]) -> range | None:
    """Return what ``seq`` counts with one to three numbers; None for a step of zero."""
    first, step, last = {
        1: (1, 1, numbers[0]),
        2: (numbers[0], 1, numbers[-1]),
        3: (numbers[0], numbers[len(numbers) // 2], numbers[-1]),
    }[len(numbers)]
    if step == 0:
        return None
    return range(first, last + (1 if step > 0 else -1), step)
