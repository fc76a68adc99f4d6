"""The playground in Chromium, from a server of plain files: what it shows, keeps, sends, and how it is used.

``make playground-test`` builds it and installs what drives it; nothing is fetched by a test.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pd_launch.launcher.cli import cli
from pd_launch.launcher.rules.registry import all_rules

HERE = Path(__file__).parent
SITE = os.environ.get("PD_PLAYGROUND", "")
NODE = shutil.which("node")
CHROMIUM = os.environ.get("PD_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
HOSTILE = """PD000 name (error)

Title with <img src=x onerror=alert(1)> and [a link](javascript:alert(1)).

## Head <b>bold</b>

- item `<script>alert(1)</script>`

```html
<iframe src="x"></iframe>
"""
PAGE = ("example", "language", "open", "fix", "share", "text", "place", "docs", "target", "close", "name")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SITE, reason="no playground is built here: make playground-test builds one"),
    pytest.mark.skipif(not NODE or not CHROMIUM, reason="there is no node, or no Chromium (PD_CHROMIUM names one)"),
    pytest.mark.skipif(not (HERE / "node_modules").is_dir(), reason="npm install was not run in tests/playground"),
]


def explanations() -> list[str]:
    """Every rule's explanation in both languages, and one with HTML in it."""
    asked = [["explain", code, "--lang", lang] for code in all_rules() for lang in ("en", "zh")]
    return [*(CliRunner().invoke(cli, words).stdout for words in asked), HOSTILE]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a browser saw; pictures of the page in three sizes go to PD_SHOTS."""
    shots = os.environ.get("PD_SHOTS") or str(tmp_path_factory.mktemp("shots"))
    asked = tmp_path_factory.mktemp("asked") / "explanations.json"
    asked.write_text(json.dumps(explanations()), "utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    site = str(Path(SITE).resolve().parent)
    command = [str(NODE), str(HERE / "browser.mjs"), site, str(CHROMIUM), sys.executable, port, shots, str(asked)]
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


@pytest.mark.parametrize("width", [390, 1280, 1680])
def test_the_page_is_no_wider_than_its_window(seen: dict[str, Any], width: int) -> None:
    assert seen[f"wide-{width}-light"] <= 0 and seen[f"wide-{width}-dark"] <= 0


def test_the_loading_says_what_it_does(seen: dict[str, Any]) -> None:
    steps = ["loading the parts", "starting Python", "starting the checker", "reading the releases"]
    assert seen["steps"] == [f"Step {number} of 4: {step}" for number, step in enumerate(steps, 1)]


@pytest.mark.parametrize("width", [390, 360, 1280])
def test_a_finding_leads_to_its_column_in_a_long_line(seen: dict[str, Any], width: int) -> None:
    found = seen[f"long-{width}"]
    place, text = found["place"], found["typed"]
    assert text["left"] <= place["left"] < place["right"] <= text["right"]
    assert max(text["top"], 0) <= place["top"] < place["bottom"] <= min(text["bottom"], found["height"])


@pytest.mark.parametrize("width", [390, 360])
def test_on_a_phone_the_first_screen_leads_to_the_findings(seen: dict[str, Any], width: int) -> None:
    found = seen[f"long-{width}"]
    assert 0 <= found["lead"]["top"] < found["lead"]["bottom"] <= found["height"]
    assert found["focused"] == "findings-title"
    assert 0 <= found["now"]["top"] < found["height"] / 2


def test_at_a_desk_the_findings_are_on_the_first_screen(seen: dict[str, Any]) -> None:
    assert seen["long-1280"]["title"]["top"] < seen["long-1280"]["height"] / 4


def test_cards_name_the_releases_that_the_report_names(seen: dict[str, Any], tmp_path: Path) -> None:
    for lang, label in {"en": "releases: ", "zh": "版本："}.items():
        report = printed(seen["undecided"]["text"], tmp_path, "--lang", lang).splitlines()
        named = [line.strip().removeprefix(label) for line in report if line.startswith(f"  {label}")]
        assert len(named) > 1
        assert seen["undecided"][lang] == [f"{label.capitalize()}{one}" for one in named]


def test_sharing_keeps_the_summary_and_the_readers_language(seen: dict[str, Any]) -> None:
    before, after = seen["shared"]["summary"]
    assert before == after != "" and "link" in seen["shared"]["told"].lower()
    assert seen["theirs"] == ["zh-CN", seen["example"]["text"]]
    assert seen["asked"] == "zh-CN"


def test_a_file_can_be_renamed_but_takes_no_other_name(seen: dict[str, Any]) -> None:
    assert seen["renamed"]["tabs"] == ["prefill.sh", "both/d.sh"]
    assert "both/d.sh" in {one["file"] for one in json.loads(seen["renamed"]["json"])["findings"]}
    assert seen["taken"] == ["Another file has this name.", ["prefill.sh", "both/d.sh"]]


def test_explanations_are_elements_with_all_of_their_words(seen: dict[str, Any]) -> None:
    texts = explanations()[:-1]
    assert len(texts) == len(seen["explained"]) - 1 > 100
    for text, blocks in zip(texts, seen["explained"], strict=False):
        code = [body for _, body in re.findall(r"^```(\w*)\n(.*?)\n```$", text, re.M | re.S)]
        assert [shown for kind, shown, _ in blocks if kind == "PRE"] == code
        prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
        prose = re.sub(r"^(#+|-|\d+\.) +", "", prose, flags=re.M).replace("`", "")
        words = "".join(shown for kind, shown, _ in blocks if kind != "PRE")
        assert "".join(words.split()) == "".join(prose.split())
        assert {kind for kind, _, _ in blocks} <= {"H3", "H4", "P", "UL", "OL", "PRE"}


def test_an_explanation_with_html_in_it_is_text(seen: dict[str, Any]) -> None:
    blocks = seen["explained"][-1]
    assert {inner for _, _, inside in blocks for inner in inside} <= {"LI", "CODE"}
    text = "\n".join(shown for _, shown, _ in blocks)
    for word in ("<img src=x onerror=alert(1)>", "(javascript:alert(1))", "<script>", "<b>bold</b>", "<iframe"):
        assert word in text
