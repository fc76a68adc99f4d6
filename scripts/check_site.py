"""Checks that every link and picture of the built site leads to a file of it, and every #place to a place on its page.

The playground is built into the same folder (scripts/build_playground.py), before or after: where it is not there yet,
the files that it will consist of count.

    python scripts/check_site.py [build/site]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
PLAYGROUND = "playground"
_NAMED = ("href", "src")


class _Page(HTMLParser):
    """What a page leads to, and the places in it that something can lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in _NAMED and value is not None:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def pages(site: Path) -> dict[Path, _Page]:
    """Read every page of a site, with the playground's, by their files."""
    found = {}
    for path in sorted(site.rglob("*.html")):
        found[path] = page = _Page()
        page.feed(path.read_text("utf-8"))
    if not (site / PLAYGROUND).is_dir():
        for path in sorted((ROOT / PLAYGROUND).glob("*.html")):
            found[site / PLAYGROUND / path.name] = page = _Page()
            page.feed(path.read_text("utf-8"))
    return found


def dead(site: Path) -> Iterator[str]:
    """Yield every link that leads nowhere, with its page."""
    known = pages(site)
    for path, page in known.items():
        for link in page.links:
            if not _leads(link, path, site, known):
                yield f"{path.relative_to(site)}: {link}"


def _leads(link: str, path: Path, site: Path, known: dict[Path, _Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    base = site if parts.path.startswith("/") else path.parent
    target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
    if not target.is_relative_to(site):
        return False
    if target in (page.parent for page in known):
        target = target / "index.html"
    if target not in known and not target.is_file() and not _is_of_playground(target, site):
        return False
    page = known.get(target)
    return not parts.fragment or page is None or unquote(parts.fragment) in page.places


def _is_of_playground(target: Path, site: Path) -> bool:
    folder = site / PLAYGROUND
    return target.is_relative_to(folder) and (ROOT / PLAYGROUND / target.relative_to(folder)).is_file()


def main() -> None:
    """Print every dead link; exit with 1 if there is one."""
    site = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "site").resolve()
    found = list(dead(site))
    print(*found, sep="\n", end="\n" if found else "")
    if found:
        sys.exit(f"{len(found)} links of {site.name} lead nowhere")


if __name__ == "__main__":
    main()
