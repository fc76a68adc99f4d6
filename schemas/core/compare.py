"""Whether two values are the same, where that is known: what is unknown is neither the same as anything nor different.

Rules compare the values of an input by :func:`same` and in no other way; a test holds them to that.
"""

from __future__ import annotations

from pd_launch.schemas.core.values import HOLE, Node, Unknown


def same(left: object, right: object) -> bool | None:
    """Return whether two values are the same; None where one of them, or a part that decides it, is not known.

    Takes nodes and plain values. None is what the reader could not tell: two of those are not known to be the same.
    """
    if isinstance(left, Node):
        left = left.value
    if isinstance(right, Node):
        right = right.value
    if _is_unknown(left) or _is_unknown(right):
        return None
    if isinstance(left, dict) and isinstance(right, dict):
        if left.keys() != right.keys():
            return False
        return _all([same(left[key], right[key]) for key in left])
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        if len(left) != len(right):
            return False
        return _all([same(one, other) for one, other in zip(left, right, strict=True)])
    return bool(left == right)


def differ(left: object, right: object) -> bool:
    """Return whether two values are known to be different."""
    return same(left, right) is False


def _is_unknown(value: object) -> bool:
    return value is None or isinstance(value, Unknown) or (isinstance(value, str) and HOLE in value)


def _all(parts: list[bool | None]) -> bool | None:
    """Return what parts say together: one that differs decides, then one that is not known."""
    if False in parts:
        return False
    return None if None in parts else True
