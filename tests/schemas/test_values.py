"""Places of values, in characters, through decoding and over lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pd_launch.schemas.core.values import HOLE, Node, Origin, SourceFile, Text, Unknown, as_integer, plain_node

PLACE = Origin("f", 1, 1, 1, 1)
FILE = SourceFile("a.sh", "eins 模型\nzwei\r\n\n  ü=\U0001f600x")


@pytest.mark.parametrize(
    ("start", "end", "place"),
    [
        (0, 4, (1, 1, 1, 5)),
        (5, 7, (1, 6, 1, 8)),
        (5, 12, (1, 6, 2, 5)),
        (8, 8, (2, 1, 2, 1)),
        (17, 20, (4, 3, 4, 6)),
        (19, 21, (4, 5, 4, 7)),
    ],
)
def test_origin(start: int, end: int, place: tuple[int, int, int, int]) -> None:
    origin = FILE.origin(start, end)
    assert (origin.line, origin.column, origin.end_line, origin.end_column) == place
    assert FILE.offset(origin.line, origin.column) == start


@pytest.mark.parametrize(("number", "text"), [(1, "eins 模型"), (2, "zwei"), (3, ""), (4, "  ü=\U0001f600x")])
def test_line(number: int, text: str) -> None:
    assert FILE.line(number) == text


@given(st.text(alphabet="ab\n\r模", max_size=30))
def test_places_and_offsets_are_inverse(text: str) -> None:
    source = SourceFile("f", text)
    for offset in range(len(text) + 1):
        line, column = source.place(offset)
        assert source.offset(line, column) == offset
        assert line == text.count("\n", 0, offset) + 1


def test_text_with_scattered_places() -> None:
    text = Text("a\nb", FILE, [5, 7, 8, 9])
    assert text.origin() == Origin("a.sh", 1, 6, 2, 2)
    assert text.origin(2, 3) == Origin("a.sh", 2, 1, 2, 2)
    assert text.origin(1, 1) == Origin("a.sh", 1, 8, 1, 8)
    assert text.part(1, 3).value == "\nb" and text.part(1, 3).origin() == Origin("a.sh", 1, 8, 2, 2)
    assert text.node().value == "a\nb"


def test_a_text_with_a_hole_is_unknown() -> None:
    node = Text(f"/models/{HOLE}", FILE, [0] * 10).node()
    assert node.value == Unknown("/models/…") and not node.known and not node.value
    assert node.string() is None and node.integer() is None


def test_tree() -> None:
    tree = plain_node({"a": [1, {"b": None}], "c": Node(Unknown("$1"), PLACE)}, PLACE)
    assert tree.get("a", 0) is not None and tree.get("a", 0).plain() == 1  # type: ignore[union-attr]
    assert tree.get("a", 1, "b") is not None
    assert tree.get("a", -1, "b") is not None
    for missing in (("a", 2), ("a", "b"), ("c", "d"), ("x",), ("a", 0, "z")):
        assert tree.get(*missing) is None
    assert tree.plain() == {"a": [1, {"b": None}], "c": Unknown("$1")}
    assert not tree.complete() and tree.get("a").complete()  # type: ignore[union-attr]
    assert [node.plain() for node in tree.get("a").walk()] == [[1, {"b": None}], 1, {"b": None}, None]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (8, 8),
        ("8", 8),
        (" -8 ", -8),
        ("+8", 8),
        (True, None),
        ("8.0", None),
        (8.0, None),
        ("", None),
        ("-", None),
        ("--8", None),
        ("+-8", None),
        ("８", None),
        ("²", None),
        (None, None),
        (Unknown("$1"), None),
        ("9" * 5000, None),
    ],
)
def test_as_integer(value: object, number: int | None) -> None:
    assert as_integer(value) == number
