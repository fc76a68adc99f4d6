"""The parsers of the engines that are installed take what an upgrade writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from corpus import Item, clean, corpus, upgraded

from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.schemas.core.launch import NodeLaunch
from pd_launch.schemas.core.pairing import ASCEND_PAIRS
from pd_launch.schemas.core.placeholder import is_placeholder
from pd_launch.schemas.core.target import Target, parse_target, release
from pd_launch.schemas.core.values import SourceFile
from tests.sampling import sample

ENGINES = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pd-launch" / "engine"
LEAST = 20
"""Inputs of a sample: some have errors of their own, or words that are not known."""
VERSIONS = ("0.23.0", "0.27.1", "0.32.0", "0.33.0")
_OF_ASCEND = ("ascend", "enable_sparse", "int8", "mxfp8")
"""Values that only vllm-ascend's plugin adds to the parser."""


def python_of(version: str) -> list[str] | None:
    """Return how the Python of an engine is started; None where it is not here.

    Of a release without a CPU build there are Python files alone: there it is the Python of this run, or none.
    """
    try:
        if metadata.version("vllm").partition("+")[0] == version:
            return [sys.executable]
    except metadata.PackageNotFoundError:
        pass
    own = next((str(one) for one in sorted(ENGINES.glob(f"{version}-*/bin/python"))), None)
    return None if own is None else [own]


def rows_of(version: str, a: Target) -> Target | None:
    """Return the row of an item's family that has this vLLM and is newer than its own."""
    if not a.is_ascend:
        b = parse_target(f"vllm=={version}")
    else:
        row = next((row for row, vllm in ASCEND_PAIRS.items() if vllm == version), None)
        if row is None:
            return None
        b = parse_target(f"vllm-ascend=={row}")
    return b if release(b.row) > release(a.row) else None


def words_of(node: NodeLaunch) -> list[str] | None:
    """Return the words behind ``vllm`` of an engine; None where one is unknown or belongs to another program."""
    if node.program != "serve" or node.partial:
        return None
    found = ["serve", *([] if any(arg.name == "model" for arg in node.args) else ["m"])]
    for arg in node.args:
        values = [arg.value, *arg.more] if arg.value is not None else []
        glued = arg.written.startswith("-O")
        if glued or not arg.name or not arg.written.startswith("-") or not all(value.complete() for value in values):
            return None
        found.append(f"--{arg.name}" if arg.written.startswith("--") else arg.written)
        for value in values:
            plain = value.plain()
            if isinstance(plain, str) and is_placeholder(plain):
                return None  # somebody is to write a value there
            found.append(plain if isinstance(plain, str) else json.dumps(plain))
    return found


def lines(version: str) -> Iterator[tuple[Item, list[str], list[str]]]:
    """Iterate over the engines of a sample of the corpus after an upgrade; where it has none, of the next that has."""
    fitting = [(item, a, b) for item in corpus() if (b := rows_of(version, a := parse_target(item.target))) is not None]
    chosen = sample(fitting, min(1.0, max(0.02, LEAST / max(len(fitting), 1))), version)
    asked = 0
    for number, (item, a, b) in enumerate([*chosen, *fitting]):
        if number >= len(chosen) and asked:
            return
        for words, left in _upgraded(item, a, b):
            asked += 1
            yield item, words, left


def _upgraded(item: Item, a: Target, b: Target) -> Iterator[tuple[list[str], list[str]]]:
    if not clean(item):
        return
    found = upgraded(dict(item.files), a, b, True)
    left = [entry.subject for entry in found.left]
    sources = [SourceFile(name, text) for name, text in found.texts.items()]
    for deployment in read(Inputs(sources, target=b)):
        for node in deployment.nodes:
            words = words_of(node)
            if words is not None:
                yield words, left


@pytest.mark.engine
@pytest.mark.parametrize("version", VERSIONS)
def test_the_parser_takes_what_is_written(version: str) -> None:
    python = python_of(version)
    if python is None:
        pytest.skip(f"vLLM {version} is not installed here")
    asked = list(lines(version))
    done = subprocess.run(
        [*python, str(Path(__file__).with_name("ask_parser.py"))],
        input=json.dumps([words for _, words, _ in asked]), capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    answers = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("answer ")]
    assert len(answers) == len(asked), done.stderr[-2000:]
    wrong = [
        f"{item.name} {item.target} → {version}: {answer}"
        for (item, _, left), answer in zip(asked, answers, strict=True)
        if answer and not left and not any(word in answer for word in _OF_ASCEND)
    ]
    assert not wrong, "\n".join(wrong)
    assert asked
