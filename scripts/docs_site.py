"""Hooks of the site (mkdocs.yml): rules in the navigation, one language at a time, the playground, words in Chinese."""

from __future__ import annotations

import pathlib
import re
from typing import Any

from mkdocs.structure.nav import Link, Navigation

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
CHINESE = "中文"
RULES = "rules/README.md"
_FAMILY = re.compile(r"^## (PD\d \S.*)$")
_ROW = re.compile(r"^\| \[(PD\d{3})\]\(PD\d{3}\.md\) \| ([\w-]+) \|")
OPEN = "<!-- open the playground -->"
"""Where a page leads to the playground, which only a built site has: on a Git host, nothing is shown there."""
WORDS = {
    'lang="en"': 'lang="zh-CN"',
    'placeholder="Search docs"': 'placeholder="搜索文档"',
    'title="Type search term here"': 'title="输入要搜索的内容"',
    "> Previous</a>": "> 上一页</a>",
    ">Next <span": ">下一页 <span",
    "&laquo; Previous": "« 上一页",
    "Next &raquo;": "下一页 »",
}


def rule_pages(folder: str) -> list[Any]:
    """Return the navigation's entries of one language's rules: the table, then each family with its pages.

    Args:
        folder: ``""`` for English, ``"zh/"`` for Chinese.
    """
    entries: list[Any] = [{"全部规则" if folder else "All rules": folder + RULES}]
    pages: list[dict[str, str]] = []
    for line in (DOCS / folder / RULES).read_text(encoding="utf-8").splitlines():
        if family := _FAMILY.match(line):
            pages = []
            entries.append({family[1]: pages})
        elif row := _ROW.match(line):
            pages.append({f"{row[1]} {row[2]}": f"{folder}rules/{row[1]}.md"})
    return entries


def with_rules(entries: list[Any]) -> list[Any]:
    """Return navigation entries in which each table of rules became a section with every rule's page."""
    done: list[Any] = []
    for entry in entries:
        ((title, value),) = entry.items()
        if isinstance(value, list):
            value = with_rules(value)
        elif value.endswith(RULES):
            value = rule_pages(value.removesuffix(RULES))
        done.append({title: value})
    return done


def on_config(config: Any) -> Any:
    """Put the rules' pages into the navigation."""
    config.nav = with_rules(config.nav)
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Put a link to the playground, in the page's language, where the page has the mark for it."""
    up = "../" * page.file.dest_uri.count("/")
    lang, words = ("zh", "打开在线检查页") if page.file.src_uri.startswith("zh/") else ("en", "Open the playground")
    return markdown.replace(OPEN, f'<p><a class="open" href="{up}playground/?lang={lang}">{words}</a></p>')


def on_page_context(context: dict[str, Any], page: Any, config: Any, nav: Any) -> dict[str, Any]:
    """Show the navigation of the page's own language, with a link to the other one."""
    chinese = page.file.src_uri.startswith("zh/")
    section = next(item for item in nav.items if item.title == CHINESE)
    home = section.children[0] if chinese else nav.homepage
    if chinese:
        items = [*section.children, Link("English", other(page, "index.md"))]
    else:
        items = [*(item for item in nav.items if item is not section), Link(CHINESE, other(page, "zh/index.md"))]
    shown = Navigation(items, nav.pages)
    shown.homepage = home
    for step in ("previous_page", "next_page"):
        near = getattr(page, step)
        if near and near.file.src_uri.startswith("zh/") != chinese:
            setattr(page, step, None)
    return context | {"nav": shown}


def other(page: Any, start: str) -> str:
    """Return the address of the same page in the other language, or of that language's first page."""
    uri = page.file.src_uri
    twin = uri.removeprefix("zh/") if uri.startswith("zh/") else f"zh/{uri}"
    if not (DOCS / twin).exists():
        twin = start
    return re.sub(r"(^|/)(index|README)$", r"\1", twin.removesuffix(".md")).rstrip("/") + "/"


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Say in the page which language it is in, and give a Chinese page the theme's words in Chinese."""
    if page.file.src_uri.startswith("zh/"):
        for word, chinese in WORDS.items():
            output = output.replace(word, chinese)
    return output
