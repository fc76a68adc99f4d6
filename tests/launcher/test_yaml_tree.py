"""YAML as trees: the values of PyYAML, every place in the user's file, and bounded work on hostile input."""

from __future__ import annotations

import datetime
import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pd_launch.launcher.sources.trees import yaml_loader
from pd_launch.launcher.sources.trees.yaml_tree import MAX_DEPTH, MAX_NODES, parse_yaml
from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.values import Node, SourceFile


def tree(text: str) -> Node:
    documents, faults = parse_yaml(SourceFile("f", text))
    assert not faults, faults
    assert len(documents) == 1
    return documents[0]


def fault(text: str) -> Fault:
    documents, faults = parse_yaml(SourceFile("f", text))
    assert len(faults) == 1 and (not documents or "twice" in faults[0].detail.en), (documents, faults)
    return faults[0]


@pytest.fixture(params=["CSafeLoader", "TabLoader"])
def loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both of PyYAML's readers; a build without libyaml has only the second."""
    monkeypatch.setattr(yaml_loader, "_Loader", getattr(yaml_loader, request.param, getattr(yaml, request.param, None)))


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ue000"), max_size=20)
)
KEYS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=8).filter(
    lambda k: k != "<<"
)
DOCUMENTS = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
DUMPS = st.fixed_dictionaries(
    {
        "default_flow_style": st.sampled_from([True, False, None]),
        "allow_unicode": st.booleans(),
        "default_style": st.sampled_from([None, '"', "'", "|", ">"]),
        "width": st.sampled_from([20, 80]),
        "line_break": st.sampled_from(["\n", "\r\n"]),
    }
)


@given(DOCUMENTS, DUMPS)
def test_values_are_those_of_pyyaml(value: Any, form: dict[str, Any]) -> None:
    text = yaml.safe_dump(value, **form)
    assert tree(text).plain() == yaml.safe_load(text)


@given(
    st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0x3FF) | st.sampled_from(" \n\"'\\:é"), max_size=40),
    DUMPS,
)
def test_every_character_has_the_place_where_it_was_written(value: str, form: dict[str, Any]) -> None:
    text = yaml.safe_dump({"key": value}, **form)
    value = yaml.safe_load(text)["key"]  # PyYAML does not bring back every line break that it writes
    node = tree(text).get("key")
    assert node is not None and node.text is not None
    assert node.text.value == value
    spots = [node.text.spots[i] for i in range(len(value) + 1)]
    assert spots == sorted(spots)
    for character, spot in zip(value, spots, strict=False):
        written = text[spot] if spot < len(text) else ""
        if not character.isspace():
            assert written == character or written == "\\", (text, value, character, spot)


@pytest.mark.parametrize(
    ("text", "path", "value", "places"),
    [
        ("a: bcd\n", ("a",), "bcd", [3, 4, 5, 6]),
        ("a: 'b''c'\n", ("a",), "b'c", [4, 5, 7, 8]),
        ('a: "b\\tc\\u00e4\\"d"\n', ("a",), 'b\tcä"d', [4, 5, 7, 8, 14, 16, 17]),
        ("a: |\n  xy\n  z\n", ("a",), "xy\nz\n", [7, 8, 9, 12, 13, 14]),
        ("a: |\r\n  xy\r\n  z\r\n", ("a",), "xy\nz\n", [8, 9, 10, 14, 15, 17]),
        ("a: >-  # folded\n  one\n  two\n", ("a",), "one two", [18, 19, 20, 21, 24, 25, 26, 28]),
        ("a: one\n  two\n", ("a",), "one two", [3, 4, 5, 6, 9, 10, 11, 12]),
        ("[{k: v}]\n", (0, "k"), "v", [5, 6]),
        ("ü: {模: x}\n", ("ü", "模"), "x", [7, 8]),
    ],
)
def test_places_inside_scalars(text: str, path: tuple[Any, ...], value: str, places: list[int]) -> None:
    node = tree(text).get(*path)
    assert node is not None and node.text is not None
    assert node.value == value
    assert list(node.text.spots) == places


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(
    ("text", "path", "value", "key", "place"),
    [
        ("a: 1\nbc: 2\n", ("bc",), 2, (2, 1, 2, 3), (2, 5, 2, 6)),
        ("a:\n  - x\n  - 'y'\n", ("a", 1), "y", None, (3, 5, 3, 8)),
        ("ä: {ö: [1, 23]}\n", ("ä", "ö", 1), 23, None, (1, 12, 1, 14)),
        ("\ufeffa: 1\n", ("a",), 1, (1, 2, 1, 3), (1, 5, 1, 6)),
        ("a: 1\r\nb: x\r\n", ("b",), "x", (2, 1, 2, 2), (2, 4, 2, 5)),
        ("a: 1\rb: x\r", ("b",), "x", (1, 6, 1, 7), (1, 9, 1, 10)),
        ("# \u2028\nb: x\n", ("b",), "x", (2, 1, 2, 2), (2, 4, 2, 5)),
        ("# a\x85b: x\n", ("b",), "x", (1, 5, 1, 6), (1, 8, 1, 9)),
        ("b: [\n 1,\n 2]\n", ("b",), [1, 2], (1, 1, 1, 2), (1, 4, 3, 4)),
    ],
)
def test_places_of_keys_and_values(text: str, path: tuple[Any, ...], value: Any, key: Any, place: Any) -> None:
    node = tree(text).get(*path)
    assert node is not None and node.plain() == value
    origin = node.origin
    assert (origin.line, origin.column, origin.end_line, origin.end_column) == place
    found = node.key and (node.key.line, node.key.column, node.key.end_line, node.key.end_column)
    assert found == key


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1: a\n0x10: b\ntrue: c\non: d\n~: e\n", {"1": "a", "0x10": "b", "true": "c", "on": "d", "~": "e"}),
        ("? [a, b]\n: 3\n", {"?": 3}),
        ("a: 2024-01-01\nb: 2024-13-45\n", {"a": "2024-01-01", "b": "2024-13-45"}),
        ("a: !custom 3\nb: !!str 3\nc: !!int '3'\nd: !!int x\n", {"a": "3", "b": "3", "c": 3, "d": "x"}),
        ("a: " + "9" * 5000, {"a": "9" * 5000}),
        ("a: 0o17\nb: 017\nc: 1_000\nd: .5\ne: 1e3\n", {"a": "0o17", "b": 15, "c": 1000, "d": 0.5, "e": "1e3"}),
        ("b: &x {p: 1, q: 2}\nc:\n  <<: *x\n  q: 3\n", {"b": {"p": 1, "q": 2}, "c": {"q": 3, "p": 1}}),
        (
            "b:\n  - &x {p: 1}\n  - &y {p: 2, q: 2}\nc: {<<: [*x, *y]}\n",
            {"b": [{"p": 1}, {"p": 2, "q": 2}], "c": {"p": 1, "q": 2}},
        ),
        ("a: &x 1\n*x : 2\n", {"a": 1, "1": 2}),
        ("a: {<<: 5, b: 1}\n", {"a": {"b": 1}}),
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}),
    ],
)
def test_values(text: str, value: Any) -> None:
    assert tree(text).plain() == value


def test_dates_are_kept_as_written() -> None:
    assert yaml.safe_load("2024-01-01") == datetime.date(2024, 1, 1)
    assert tree("2024-01-01").plain() == "2024-01-01"


@pytest.mark.parametrize("text", ["", "   \n", "# only a comment\n", "\ufeff"])
def test_nothing(text: str) -> None:
    assert parse_yaml(SourceFile("f", text)) == ([], [])


def test_documents() -> None:
    documents, faults = parse_yaml(SourceFile("f", "a: &x 1\n---\nb: 2\n---\n"))
    assert [d.plain() for d in documents] == [{"a": 1}, {"b": 2}, None] and not faults


def test_duplicate_keys() -> None:
    documents, faults = parse_yaml(SourceFile("f", "a: 1\nb: {c: 1, c: 2}\n'a': 3\na: 4\n"))
    assert documents[0].plain() == {"a": 4, "b": {"c": 2}}
    assert [n.plain() for n in documents[0].value["a"].shadowed] == [1, 3]
    assert [(f.origin.line, f.origin.column, f.detail.en) for f in faults] == [
        (2, 11, "the key 'c' appears twice in this mapping (first on line 2)"),
        (3, 1, "the key 'a' appears twice in this mapping (first on line 1)"),
        (4, 1, "the key 'a' appears twice in this mapping (first on line 3)"),
    ]


@pytest.mark.usefixtures("loader")
@pytest.mark.parametrize(
    ("text", "line", "column", "word"),
    [
        ("a: 1\n\tb: 2\n", 2, 1, "found"),
        ("a: [1, 2\nb: 3\n", 2, 2, "expected"),
        ("a: 'x\n", 2, 1, "quoted scalar"),
        ('ä: "\x07"\n', 1, 5, "allowed"),
        ("a: 1\nb: \x00\n", 2, 4, "allowed"),
        ("a: \udc80\n", 1, 4, "allowed"),
        ("a: *y\n", 1, 4, "the alias *y names no finished anchor"),
        ("a: &x [1, *x]\n", 1, 11, "the alias *x names no finished anchor"),
        ("a: &x 1\n---\nb: *x\n", 3, 4, "the alias *x names no finished anchor"),
        ("a: b: c\n", 1, 5, "mapping values are not allowed"),
        ("- a\nb: c\n", 2, 1, "expected"),
        ('a: "\\q"\n', 1, 5, "escape character"),
        ("a: @b\n", 1, 4, "cannot start any token"),
    ],
)
def test_syntax_errors(text: str, line: int, column: int, word: str) -> None:
    found = fault(text)
    assert (found.kind, found.origin.line) == ("yaml", line), found
    assert abs(found.origin.column - column) <= 1, found  # the two readers differ by one sign in places
    assert word in found.detail.en and found.detail.en.startswith("not valid YAML: ")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), f"nested more than {MAX_DEPTH} deep"),
        ("a: [" + "1," * MAX_NODES + "]", f"more than {MAX_NODES} values"),
        (
            "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
            + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)),
            f"more than {MAX_NODES} values",
        ),
        (
            "".join(f"k{i}: &a{i} {'[' * 60}{f'*a{i - 1}' if i else 1}{']' * 60}\n" for i in range(40)),
            f"nested more than {MAX_DEPTH} deep",
        ),
        ("a: " + "{a: " * 5000, "nest"),
    ],
    ids=["deep", "many", "laughs", "deep-by-aliases", "deeper-than-the-reader"],
)
def test_hostile_input_is_refused_soon(text: str, word: str) -> None:
    begin = time.process_time()
    assert word in fault(text).detail.en
    assert time.process_time() - begin < 20


def test_the_deepest_tree_can_be_walked() -> None:
    deepest = tree("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    assert len(list(deepest.walk())) == MAX_DEPTH
    assert deepest.plain() is not None


def test_a_huge_scalar_is_read_without_places_until_they_are_asked_for() -> None:
    node = tree("a: |\n" + "  line\n" * 400_000).get("a")
    assert node is not None and node.text is not None
    assert len(node.value) == 2_000_000
    assert "found" not in vars(node.text.spots)
    assert node.text.origin(5, 6).line == 3
