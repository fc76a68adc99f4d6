"""The playground in Chromium, from a server of plain files: what it shows, keeps, sends, and how it is used.

``make playground-test`` builds it and installs what drives it; nothing is fetched by a test.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pd_launch.launcher.cli import cli

HERE = Path(__file__).parent
SITE = os.environ.get("PD_PLAYGROUND", "")
NODE = shutil.which("node")
CHROMIUM = os.environ.get("PD_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
PAGE = ("example", "language", "open", "fix", "share", "text", "place", "docs", "target", "close")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SITE, reason="no playground is built here: make playground-test builds one"),
    pytest.mark.skipif(not NODE or not CHROMIUM, reason="there is no node, or no Chromium (PD_CHROMIUM names one)"),
    pytest.mark.skipif(not (HERE / "node_modules").is_dir(), reason="npm install was not run in tests/playground"),
]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a browser saw; pictures of the page in three sizes go to PD_SHOTS."""
    shots = os.environ.get("PD_SHOTS") or str(tmp_path_factory.mktemp("shots"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    site = str(Path(SITE).resolve().parent)
    command = [str(NODE), str(HERE / "browser.mjs"), site, str(CHROMIUM), sys.executable, port, shots]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def printed(text: str, folder: Path, *words: str) -> str:
    (folder / "decode.sh").write_text(text, "utf-8")
    before = Path.cwd()
    os.chdir(folder)
    try:
        return CliRunner().invoke(cli, ["check", "decode.sh", *words]).stdout
    finally:
        os.chdir(before)


def test_nothing_failed(seen: dict[str, Any]) -> None:
    assert seen["faults"] == [] and seen["down"] == ""


def test_the_page_shows_the_commands_own_json_in_both_languages(seen: dict[str, Any], tmp_path: Path) -> None:
    text = seen["example"]["text"]
    assert seen["example"]["findings"] > 1
    assert seen["example"]["json"] == printed(text, tmp_path, "--format", "json", "--lang", "en")
    assert seen["chinese"]["json"] == printed(text, tmp_path, "--format", "json", "--lang", "zh")
    assert seen["chinese"]["lang"] == "zh-CN"


def test_fixes_are_the_commands_own_and_can_be_undone(seen: dict[str, Any], tmp_path: Path) -> None:
    text = seen["example"]["text"]
    printed(text, tmp_path, "--fix", "--unsafe-fixes")
    assert seen["fixed"] == (tmp_path / "decode.sh").read_text("utf-8") != text
    assert seen["undone"] == text
    assert seen["one"] != text


def test_nothing_is_asked_of_a_server_after_loading(seen: dict[str, Any]) -> None:
    assert seen["fetched"] == "refused"
    assert [url for url in seen["late"] if not url.endswith("parts.json")] == []


def test_a_link_restores_the_files(seen: dict[str, Any]) -> None:
    assert seen["restored"]["text"] == seen["example"]["text"]
    assert seen["restored"]["json"] == seen["example"]["json"]


def test_a_second_visit_loads_no_part_and_needs_no_network(seen: dict[str, Any]) -> None:
    assert seen["second"] == []
    assert seen["offline"] == seen["example"]["json"]


def test_two_sides_are_compared(seen: dict[str, Any]) -> None:
    assert seen["pair"]["tabs"] == ["prefill.sh", "decode.sh"]
    related = [one for one in json.loads(seen["pair"]["json"])["findings"] if one["related"]]
    assert related


def test_everything_is_reached_with_keys_and_a_finding_leads_to_its_place(seen: dict[str, Any]) -> None:
    assert set(PAGE) - set(seen["reached"]) == set()
    assert seen["selected"][0] == "text" and seen["selected"][1]


@pytest.mark.parametrize("page", ["page", "licences.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(seen: dict[str, Any], page: str, scheme: str) -> None:
    assert seen[f"axe-{page}-{scheme}"] == []


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_the_page_is_no_wider_than_its_window(seen: dict[str, Any], width: int) -> None:
    assert seen[f"wide-{width}-light"] <= 0 and seen[f"wide-{width}-dark"] <= 0
