"""Trees that came as flat lists are those that tree-sitter makes, and are read alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import read_texts
from pd_launch.launcher.sources.shell import parser
from pd_launch.launcher.sources.shell.flat import HAS_ERROR, MISSING, NAMED, Flat, FlatParser, tree_of

SCRIPTS = sorted((Path(__file__).parents[1] / "rules").glob("PD*/*.fires.sh"))
ODD = [
    "",
    "echo 中文 '😀' x  # 注释\n",
    "if true; then echo 中\n",
    "cat <<E\n😀 $X 中\nE\nvllm serve 中 --port ${P:-80}\n",
]


def _units(text: bytes) -> list[int]:
    """Return how many units of UTF-16 stand before each byte."""
    found, units = [], 0
    for sign in text.decode("utf-8", "surrogatepass"):
        found += [units] * len(sign.encode("utf-8", "surrogatepass"))
        units += 2 if ord(sign) > 0xFFFF else 1
    return [*found, units]


def flat(text: str) -> Flat:
    """Return the flat list of what the native parser makes of a text."""
    data = text.encode("utf-8", "surrogatepass")
    kinds: list[str] = []
    numbers: list[int] = []
    at = _units(data)

    def add(node: Any) -> None:
        if node.type not in kinds:
            kinds.append(node.type)
        flags = NAMED * node.is_named | MISSING * node.is_missing | HAS_ERROR * node.has_error
        numbers.extend((kinds.index(node.type), flags, at[node.start_byte], at[node.end_byte], len(node.children)))
        for child in node.children:
            add(child)

    add(parser.parser_of_scripts().parse(data).root_node)
    return kinds, numbers


def seen(node: Any) -> Iterator[tuple[object, ...]]:
    """Yield all that is read of a node and of those below it."""
    around = [getattr(one, "type", None) for one in (node.parent, node.next_sibling)]
    own = (node.type, node.is_named, node.is_missing, node.has_error, node.start_byte, node.end_byte)
    yield (*own, *around, len(node.children))
    for child in node.children:
        yield from seen(child)


@pytest.mark.parametrize("text", [*ODD, *(path.read_text("utf-8") for path in SCRIPTS[::16])])
def test_a_flat_tree_is_the_native_one(text: str) -> None:
    native = parser.parser_of_scripts().parse(text.encode("utf-8", "surrogatepass")).root_node
    root = tree_of(flat(text), text).root_node
    assert list(seen(root)) == list(seen(native))
    ids = [root.id, *(child.id for child in root.children)]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("path", SCRIPTS[::16], ids=lambda path: path.stem)
def test_scripts_are_read_alike(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {path.name: path.read_text("utf-8")}
    native = check(read_texts(texts))
    flats: dict[str, Flat] = {}

    def parse(text: str) -> Flat:
        if text not in flats:
            monkeypatch.setattr(parser, "_others", [])
            flats[text] = flat(text)
            monkeypatch.setattr(parser, "_others", [other])
        return flats[text]

    other = FlatParser(parse)
    monkeypatch.setattr(parser, "_others", [other])
    assert check(read_texts(texts)) == native
    assert flats


def test_a_parser_is_used_once_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "_others", [])
    other = FlatParser(flat)
    parser.use_parser(other)
    assert parser.parser_of_scripts() is other
