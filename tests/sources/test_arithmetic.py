"""Arithmetic of scripts: what bash makes of an expression, or nothing."""

from __future__ import annotations

import random
import subprocess

import pytest

from pd_launch.launcher.sources.shell.arithmetic import evaluate

KNOWN = {"A": 7, "B": 0, "C": -3, "N": 64}
BINARY = ("+", "-", "*", "/", "%", "<<", ">>", "**", "<", ">=", "==", "!=", "&", "|", "^", "&&", "||", ",")


def _expression(chance: random.Random, depth: int = 0) -> str:
    kind = chance.randrange(7) if depth < 4 else 0
    if kind <= 1:
        return chance.choice(["1", "2", "30", "0x1F", "017", "2#101", "A", "$A", "${B}", "C", "N", "1024"])
    if kind == 2:
        return f"({_expression(chance, depth + 1)})"
    if kind == 3:
        return f"{chance.choice('-+!~')} {_expression(chance, depth + 1)}"
    if kind == 4:
        return "(" + " ".join(f"{_expression(chance, depth + 1)} {sign}" for sign in "?:") + f" {chance.randrange(9)})"
    blank = chance.choice(["", " "])
    left, right = _expression(chance, depth + 1), _expression(chance, depth + 1)
    return f"{left}{blank}{chance.choice(BINARY)}{blank}{right}"


def test_expressions_are_what_bash_makes_of_them() -> None:
    chance = random.Random(7)
    expressions = [_expression(chance) for _ in range(400)]
    script = "".join(f"{name}={value}\n" for name, value in KNOWN.items())
    script += "".join(f"(echo {number} $(( {text} ))) 2>/dev/null\n" for number, text in enumerate(expressions))
    printed = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60).stdout
    right = {int(line.split()[0]): int(line.split()[1]) for line in printed.splitlines() if len(line.split()) == 2}
    known = 0
    for number, text in enumerate(expressions):
        found = evaluate(text, KNOWN.get)
        assert number not in right or found in (None, right[number]), text  # one that fails has no value
        known += found is not None
    assert known > len(right) * 3 // 4


@pytest.mark.parametrize(
    ("text", "value", "left"),
    [
        ("A = 5", 5, {"A": 5}),
        ("A += 2, B = A * 2", 18, {"A": 9, "B": 18}),
        ("A++ + ++A", 16, {"A": 9}),
        ("B = X", None, {"B": None}),
        ("A <<= 1", 14, {"A": 14}),
        ("A ? B : C", 0, {}),
    ],
)
def test_what_is_set(text: str, value: int | None, left: dict[str, int | None]) -> None:
    scope: dict[str, int | None] = dict(KNOWN)
    set_: dict[str, int | None] = {}

    def assign(name: str, number: int | None) -> None:
        scope[name] = set_[name] = number

    assert evaluate(text, scope.get, assign) == value
    assert set_ == left


@pytest.mark.parametrize(
    "text", ["", "a b", "1 +", "(1", "1)", "1 ? 2", "$(x)", "1.5", "08", "9" * 30, "1/0", "1 << 99", "(" * 400]
)
def test_what_is_no_known_number(text: str) -> None:
    assert evaluate(text, lambda _: None) is None
