"""Numbers that Python files calculate of literals, within bounds."""

from __future__ import annotations

import ast
from typing import Any

from pd_launch.schemas.core.whole import is_boundless

_MAX_INTEGER_BITS = 256


def calculated(expression: ast.expr) -> int | float | None:
    """Return the value of ``16 * 1024**3``, ``1 << 30`` and their like; None for anything else or too large."""
    if isinstance(expression, ast.Constant):
        value = expression.value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or is_boundless(value):
            return None
        return value
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub):
        inner = calculated(expression.operand)
        return None if inner is None else -inner
    if not isinstance(expression, ast.BinOp):
        return None
    left, right = calculated(expression.left), calculated(expression.right)
    if left is None or right is None:
        return None
    if isinstance(left, int) and isinstance(right, int):
        return _integers(expression.op, left, right)
    operations: dict[type[ast.operator], Any] = {
        ast.Add: lambda: left + right,
        ast.Sub: lambda: left - right,
        ast.Mult: lambda: left * right,
    }
    operation = operations.get(type(expression.op))
    return operation() if operation else None


def _integers(operator: ast.operator, left: int, right: int) -> int | None:
    bits = left.bit_length()
    if isinstance(operator, ast.Pow):
        return left**right if 0 <= right <= 64 and bits * right <= _MAX_INTEGER_BITS else None
    if isinstance(operator, ast.LShift):
        return left << right if 0 <= right <= _MAX_INTEGER_BITS - bits else None
    if isinstance(operator, ast.Mult):
        return left * right if bits + right.bit_length() <= _MAX_INTEGER_BITS else None
    if isinstance(operator, ast.FloorDiv):
        return left // right if right else None
    if isinstance(operator, ast.Add):
        return left + right
    return left - right if isinstance(operator, ast.Sub) else None
