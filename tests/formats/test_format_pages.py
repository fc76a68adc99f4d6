"""Commands on the pages about sizing, containers and switching run as they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from pd_launch.launcher.cli import cli
from pd_launch.schemas.profile import OffloadSection

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("sizing", "containers", "switching")


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / f"{page}.md").read_text()
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


COMMANDS = [
    line
    for page in PAGES
    for block in blocks(page, "bash")
    for line in block.splitlines()
    if line.startswith("pd-launch ") and " > " not in block
]
WRITING = [block for page in PAGES for block in blocks(page, "bash") if " > " in block]
"""Commands of which a later one reads what an earlier one has written."""


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_run(line: str) -> None:
    result = CliRunner().invoke(cli, shlex.split(line)[1:])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("block", WRITING)
def test_commands_that_write_files_run(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in block.splitlines():
        command, _, name = line.partition(" > ")
        result = CliRunner().invoke(cli, shlex.split(command)[1:])
        assert result.exit_code == 0, result.output
        if name:
            Path(name).write_text(result.stdout)


def test_numbers_of_the_page_are_those_of_the_command() -> None:
    output = CliRunner().invoke(cli, shlex.split(COMMANDS[0])[1:]).output
    shown = blocks("sizing", "text")[0].strip("\n")
    assert shown in output


def test_the_profile_of_the_page() -> None:
    offload = yaml.safe_load(blocks("switching", "yaml")[0])["decode"]["offload"]
    assert OffloadSection(**offload).connector == "builtin"


def test_recipes() -> None:
    recipes = blocks("containers", "dockerfile")
    assert recipes and all("pip install --no-deps --no-index" in recipe for recipe in recipes)
