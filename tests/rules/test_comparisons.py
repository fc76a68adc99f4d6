"""What is unknown is neither the same as anything nor different: rules compare values of the input in one way alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pd_launch.launcher.rules
from pd_launch.schemas.core.compare import differ, same
from pd_launch.schemas.core.values import HOLE, Origin, Unknown, plain_node

PLACE = Origin("f", 1, 1, 1, 1)
RULES = Path(next(iter(pd_launch.launcher.rules.__path__)))
_READ = {"plain", "string", "integer", "variable", "number", "value", "kv_transfer", "additional"}
"""What gives a value of the input, which may be unknown."""
UNKNOWN = Unknown("$A")


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 1, True),
        (1, "1", False),
        ("a", "b", False),
        (UNKNOWN, UNKNOWN, None),
        (UNKNOWN, "a", None),
        (None, None, None),
        (HOLE, HOLE, None),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": UNKNOWN, "b": 1}, {"a": 1, "b": 1}, None),
        ({"a": UNKNOWN, "b": 1}, {"a": UNKNOWN, "b": 2}, False),
        ([1, UNKNOWN], [1, UNKNOWN], None),
        ([1], [1, 2], False),
    ],
)
def test_same(left: object, right: object, expected: bool | None) -> None:
    for one, other in ((left, right), (right, left)):
        nodes = [value if value is None else plain_node(value, PLACE) for value in (one, other)]
        assert same(one, other) is same(*nodes) is expected
        assert differ(one, other) is (expected is False)


def _reads(node: ast.expr) -> bool:
    """Whether an expression is a value of the input as it stands."""
    if isinstance(node, ast.Call):
        node = node.func
    return isinstance(node, ast.Attribute) and node.attr in _READ


def _is_fixed(node: ast.expr) -> bool:
    """Whether an expression is the rule's own: nothing of it comes from the input."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return all(_is_fixed(part) for part in node.elts)
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id.isupper())


def _comparisons() -> Iterator[tuple[str, ast.expr, ast.expr]]:
    for path in sorted(RULES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            sides = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            for operator, left, right in zip(node.ops if sides else [], sides, sides[1:], strict=False):  # type: ignore[attr-defined]
                if isinstance(operator, (ast.Eq, ast.NotEq)):
                    yield f"{path.relative_to(RULES)}:{node.lineno}", left, right  # type: ignore[attr-defined]


def test_no_rule_compares_two_values_of_the_input_by_itself() -> None:
    found = [
        f"{place} {ast.unparse(left)} / {ast.unparse(right)}"
        for place, left, right in _comparisons()
        if (_reads(left) and not _is_fixed(right)) or (_reads(right) and not _is_fixed(left))
    ]
    assert found == []


def test_no_rule_searches_the_text_of_the_input_for_what_the_reader_knows() -> None:
    texts = [path for path in RULES.rglob("*.py") if "sources.get(" in path.read_text("utf-8")]
    assert [path.name for path in texts] == ["pd804_container_config_file.py"]  # whether a script makes the file
