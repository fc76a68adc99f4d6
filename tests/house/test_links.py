"""Links between pages lead to a heading of the page: what `make docs` asks of the built site, asked in a second."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
_FENCE = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2[ \t]*$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^()\s:]*)#([^()\s]+)\)")


def _place(heading: str) -> str:
    """Return a heading's anchor: the words of any script, joined by hyphens."""
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", shown).strip().lower())


@cache
def _text(page: Path) -> str:
    return _FENCE.sub("", page.read_text("utf-8"))


@cache
def _places(page: Path) -> frozenset[str]:
    return frozenset(map(_place, _HEADING.findall(_text(page)))) | frozenset(re.findall(r'id="([^"]+)"', _text(page)))


def _links() -> Iterator[tuple[Path, str, str]]:
    for page in PAGES:
        for path, place in _LINK.findall(_text(page)):
            yield page, path, unquote(place)


@pytest.mark.parametrize(
    ("page", "path", "place"), [pytest.param(*link, id=f"{link[0].relative_to(DOCS)}#{link[2]}") for link in _links()]
)
def test_a_link_leads_to_a_heading(page: Path, path: str, place: str) -> None:
    target = (page.parent / path).resolve() if path else page
    assert place in _places(target)


def test_chinese_headings_are_places() -> None:
    assert _place("两个节点的解码侧") == "两个节点的解码侧"
    assert any(not place.isascii() for _, _, place in _links())
