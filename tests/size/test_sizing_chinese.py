"""``size`` in Chinese: the same numbers, and every text and refusal in the reader's language."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pd_launch.launcher.cli import cli
from pd_launch.launcher.wording.width import width

ENGLISH = re.compile(r"\b(the|per|each|with|give|and|engine|node|blocks?)\b")
NAMES = re.compile(r"[\w.-]*/[\w./-]+|--[\w-]+|\w*_\w+|per_rank")
"""What is the same in every language: paths, options, keys."""
_NUMBERS = re.compile(r"\d[\d.]*")


def size(*words: str, lang: str) -> str:
    result = CliRunner().invoke(cli, ["size", *words], env={"PD_LAUNCH_LANG": lang})
    assert "Traceback" not in result.output
    return result.output


def english(text: str) -> list[str]:
    """Return the English words of a text, but for what Click and a profile say."""
    text = text.replace("Error: ", "").partition("写入配置文件")[0]
    return ENGLISH.findall(NAMES.sub("", text))


@pytest.mark.parametrize(
    "words",
    [
        ("--profile", "a3-dp2tp8", "--requests", "8"),
        ("--profile", "a3-moe-external", "--per-rank", "16GiB"),
        ("--profile", "cpu-tiny", "--per-rank", "1GiB"),
        ("--profile", "a3-dp2tp8", "--requests", "1", "--plot"),
    ],
)
def test_it_says_the_same_in_chinese(words: tuple[str, ...]) -> None:
    shown = size(*words, lang="zh")
    assert not english(shown), shown
    assert sorted(_NUMBERS.findall(shown)) == sorted(_NUMBERS.findall(size(*words, lang="en")))
    assert size(*words, "--lang", "zh", lang="en") == shown


def test_columns_stand_below_each_other() -> None:
    lines = size("--profile", "a3-dp2tp8", "--requests", "8", lang="zh").splitlines()
    table = lines[next(i for i, line in enumerate(lines) if "请求" in line and "每个节点" in line) :][:7]
    assert len({width(line) for line in table}) == 1


@pytest.mark.parametrize(
    "words",
    [
        ("--model", "nobody/knows-this", "--requests", "1"),
        ("--model", "Qwen/Qwen3-32B"),
        ("--model", "openai/gpt-oss-20b", "--requests", "1"),
        ("--model", "Qwen/Qwen3-Next-80B-A3B-Instruct", "--requests", "1"),
        ("--model", "Qwen/Qwen3-32B", "--tp", "3", "--requests", "1"),
        ("--model", "Qwen/Qwen3-32B", "--memory", "4GiB"),
        ("--model", "Qwen/Qwen3-32B", "--requests", "1", "--kv-cache-dtype", "nvfp4"),
        (),
    ],
)
def test_refusals_are_chinese(words: tuple[str, ...]) -> None:
    shown = size(*words, lang="zh")
    assert shown.startswith("Error: ") and not english(shown), shown


def test_notes_are_chinese(tmp_path: Path) -> None:
    words = ("--model", "deepseek-ai/DeepSeek-V3.2", "--requests", "1")
    assert "估算" in size(*words, lang="zh") and not english(size(*words, lang="zh"))
    note = json.loads(size(*words, "--format", "json", lang="zh"))["note"]
    assert "索引器" in note and "indexer" in json.loads(size(*words, "--format", "json", lang="en"))["note"]
