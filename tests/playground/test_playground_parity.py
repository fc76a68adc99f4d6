"""The playground's parts, run by Node, print what the command prints, to the byte.

``make playground-test`` builds the playground and names it here with PD_PLAYGROUND; nothing is fetched by a test.
PD_TEST_SAMPLE=all asks everything (many minutes), PD_TEST_SEED another sample.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from playground_inputs import ROOT, Asked, cases, examples, fixtures

from pd_launch.launcher.cli import cli
from tests.sampling import sample

HERE = Path(__file__).parent
SITE = os.environ.get("PD_PLAYGROUND", "")
NODE = shutil.which("node")
LARGEST = 20_000_000
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SITE, reason="no playground is built here: make playground-test builds one"),
    pytest.mark.skipif(not NODE, reason="there is no node"),
]


def answers(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the playground's parts answer."""
    given = "".join(json.dumps(one) + "\n" for one in asked)
    command = [str(NODE), str(HERE / "ask.mjs"), SITE]
    done = subprocess.run(command, input=given, capture_output=True, text=True, encoding="utf-8", timeout=3600)
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.split("\n") if line]


def printed(args: list[str], files: dict[str, str], folder: Path) -> tuple[int, str, dict[str, str]]:
    """Return the command's status, what it prints, and the files afterwards."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    before = Path.cwd()
    os.chdir(folder)
    try:
        done = CliRunner().invoke(cli, args)
    finally:
        os.chdir(before)
    return done.exit_code, done.stdout, {name: (folder / name).read_bytes().decode() for name in files}


def compare(inputs: list[Asked], more: tuple[str, ...], folder: Path) -> None:
    """Ask both, and assert that they say and write the same."""
    got = answers([{"args": [*one.args, *more], "files": one.files} for one in inputs])
    assert len(got) == len(inputs) > 0
    differ = []
    for number, (one, answer) in enumerate(zip(inputs, got, strict=True)):
        wanted = printed([*one.args, *more], one.files, folder / str(number))
        if (answer["status"], answer["out"], answer["files"]) != wanted:
            differ.append(one.name)
    print(f"{len(inputs)} inputs, {len(differ)} answered otherwise")
    assert not differ, f"{len(differ)} of {len(inputs)} differ: {differ[:20]}"


def test_every_case_gets_the_commands_own_json(tmp_path: Path) -> None:
    compare(sample(cases(), 1 / 6, "playground cases"), (), tmp_path)


def test_fixtures_and_examples_get_the_commands_own_json(tmp_path: Path) -> None:
    asked = sample(fixtures(), 1 / 16, "playground fixtures") + sample(examples(), 1 / 8, "playground examples")
    compare(asked, (), tmp_path)


def test_fixes_are_written_as_the_command_writes_them(tmp_path: Path) -> None:
    compare(sample(cases(), 1 / 12, "playground fixes"), ("--fix", "--unsafe-fixes"), tmp_path)


def test_lines_keep_their_ends_and_odd_names_are_files(tmp_path: Path) -> None:
    texts = {
        "a/decode.sh": "vllm serve m --port 80000\r\n",
        "b/decode.sh": "vllm serve m \\\r\n  --data-paralel-size 2\r\n",
        "提示 1.sh": "# 𝒳 注释\nvllm serve m --port x # 𝒳\n",
    }
    inputs = [
        Asked("folders", texts, ("--lang", "en")),
        Asked("empty", {"a.sh": ""}, ("--lang", "zh")),
        Asked("spaces", {"a.sh": "\n\n"}, ()),
    ]
    compare(inputs, ("--fix",), tmp_path)


def test_all_of_it_is_small_enough_to_load() -> None:
    listed = json.loads((Path(SITE) / "parts.json").read_text("utf-8"))
    assert sum(size for size, _ in listed.values()) < LARGEST
    on_disk = {path.name: path.stat().st_size for path in (Path(SITE) / "parts").iterdir()}
    assert on_disk == {name: size for name, (size, _) in listed.items()}


def test_every_file_of_the_page_is_built_and_kept_for_a_visit_without_a_network() -> None:
    sources = {path.name for path in (ROOT / "playground").iterdir()}
    built = {path.name for path in Path(SITE).iterdir() if path.is_file()}
    assert built == sources
    listed = re.search(r"const FILES = \[(.*?)\]", (ROOT / "playground" / "offline.js").read_text("utf-8"), re.S)
    assert listed
    kept = set(re.findall(r'"([^"]+)"', listed[1]))
    assert kept == built - {"index.html", "offline.js"} | {"./"}


def test_built_alone_it_does_not_lead_to_documentation_that_is_not_there(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "build_playground.py"), "--into"]
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").touch()
    for folder, hidden in (("alone", True), ("site", False)):
        into = tmp_path / folder / "playground"
        subprocess.run([*command, str(into)], check=True, capture_output=True, timeout=300)
        assert ('id="docs" hidden' in (into / "index.html").read_text("utf-8")) is hidden
