"""The editors' page: its configurations can be read, and name every kind of file that is checked, in both languages."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGES = ("docs/guide/editors.md", "docs/zh/guide/editors.md")
NAMES = {
    "sh": ("bash", "shellscript"),
    "yaml": ("yaml", "yaml"),
    "json": ("json", "json"),
    "python": ("python", "python"),
    "dockerfile": ("dockerfile", "dockerfile"),
    "make": ("make", "makefile"),
    "systemd": ("systemd", "ini"),
}
"""What Neovim, Helix and VS Code call the languages in which engines are started."""
COMPOSE = ("docker-compose", "dockercompose")
"""Helix and VS Code know compose files apart from other YAML, Neovim does not."""


def shown(page: str, language: str) -> str:
    """The first block of a language on a page that is about this server."""
    text = (ROOT / page).read_text("utf-8")
    found = [body for body in re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S) if "lsp" in body]
    return str(found[0])


@pytest.mark.parametrize("page", PAGES)
def test_neovim_starts_it_for_every_language(page: str) -> None:
    pattern = re.search(r"pattern = \{(.*?)\}", shown(page, "lua"))
    assert pattern
    assert set(re.findall(r'"(\w+)"', pattern[1])) == {*NAMES, "bash"}


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib")
def test_helix_starts_it_for_every_language(page: str) -> None:
    import tomllib

    said = tomllib.loads(shown(page, "toml"))
    assert said["language-server"] == {"pd-launch": {"command": "pd-launch", "args": ["lsp"]}}
    assert {one["name"] for one in said["language"]} == {*(helix for helix, _ in NAMES.values()), COMPOSE[0]}
    assert all(one["language-servers"][-1] == "pd-launch" and len(one) == 2 for one in said["language"])


@pytest.mark.parametrize("page", PAGES)
def test_vs_code_starts_it_for_every_language(page: str) -> None:
    said: dict[str, Any] = json.loads(shown(page, "json"))
    assert said["glspc.server.command"] == "pd-launch" and said["glspc.server.commandArguments"] == ["lsp"]
    assert set(said["glspc.server.languageId"]) == {*(code for _, code in NAMES.values()), COMPOSE[1]}
    assert set(said["files.associations"].values()) <= set(said["glspc.server.languageId"])
    assert said["editor.codeActionsOnSave"] == {"source.fixAll.pd-launch": "explicit"}


def test_both_pages_show_the_same_configurations() -> None:
    for language in ("lua", "toml", "json"):
        english, chinese = (shown(page, language) for page in PAGES)
        assert english == chinese
