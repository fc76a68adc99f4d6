"""The mutants of scripts/mutate.py: one thing is changed, at its place, and what no test could tell is left alone."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "scripts"))

from mutants import mutants_of, parses  # noqa: E402

CHANGES = {
    "a < b": ["a <= b"],
    "a >= b": ["a > b"],
    "a not  in b": ["a in b"],
    "a is b is not c": ["a is not b is not c", "a is b is c"],
    "a and b and c": ["a or b and c", "a and b or c"],
    "(a  # or\n     or b)": ["(a  # or\n     and b)"],
    "'预填充' + a - b": ["'预填充' + a + b"],
    "not a": [" a"],
    "f(a, 3)": ["f(a, 2)", "f(a, 4)"],
    "min(a, b)": ["max(a, b)"],
    "f'{a < 3}'": [],
    "True": [],
}


def changed(tmp_path: Path, text: str) -> list[str]:
    """All mutants of a file with this text."""
    (tmp_path / "x.py").write_text(text, encoding="utf-8")
    content = text.encode()
    found = [mutant.applied(content) for mutant in mutants_of(tmp_path, "x.py")]
    return sorted(one.decode() for one in found if parses(one))


@pytest.mark.parametrize("expression", CHANGES)
def test_an_expression_is_changed_in_one_place(expression: str, tmp_path: Path) -> None:
    assert changed(tmp_path, f"x = {expression}\n") == sorted(f"x = {new}\n" for new in CHANGES[expression])


@pytest.mark.parametrize(
    ("returns", "value", "new"),
    [
        ("int | None", "a", "None"), ("int", "a", "0"), ("bool", "a", "not (a)"), ("bool", "True", "False"),
        ("list[str]", "a", "[]"), ("tuple[str, ...]", "a", "()"), ("tuple[str, int]", "a", None),
        ("str", '""', None), ("Literal[1]", "a", None),
    ],
)  # fmt: skip
def test_a_function_returns_what_its_type_allows(returns: str, value: str, new: str | None, tmp_path: Path) -> None:
    text = f"def f(a: int) -> {returns}:\n    return {{}}\n"
    assert changed(tmp_path, text.format(value)) == ([] if new is None else [text.format(new)])


def test_statements_go_only_in_functions(tmp_path: Path) -> None:
    text = "a = b\nf()\ndef g(a=False):\n    for x in a:\n        y = x\n        f(y)\n        break\n"
    assert changed(tmp_path, text) == sorted(
        [
            text.replace("False", "True"),
            text.replace("y = x", "pass"),
            text.replace("        f(y)", "        pass"),
            text.replace("break", "continue"),
        ]
    )


def test_a_mutant_knows_its_lines_and_its_file(tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text("def f(a):\n    a = g(\n        '一',\n        a)\n    return a\n", encoding="utf-8")
    (mutant,) = mutants_of(tmp_path, "x.py")
    assert (mutant.line, mutant.last_line, mutant.inside) == (2, 4, True)
    ast.parse(mutant.applied((tmp_path / "x.py").read_bytes()))
    with pytest.raises(ValueError, match=r"x\.py has changed"):
        mutant.applied(b"something else, and longer than the file that was read: nothing is where it was before")
