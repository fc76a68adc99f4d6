"""What the playground is asked: the repository's cases, fixtures and documented examples, as the command gets them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from doc_examples import blocks

ROOT = Path(__file__).resolve().parents[2]
_TARGET = re.compile(r"pd-test:[^\n]{0,200}\btarget=(\S{1,60})")
_SUFFIXES = {"bash": ".sh", "yaml": ".yaml", "python": ".py", "dockerfile": ".Dockerfile"}


@dataclass(frozen=True)
class Asked:
    """Files by name, and the words of the command behind them."""

    name: str
    files: dict[str, str]
    words: tuple[str, ...]

    @property
    def args(self) -> list[str]:
        """The words of the whole command."""
        return ["check", *self.files, "--format", "json", *self.words]


def _asked(name: str, files: dict[str, str], target: str | None) -> Asked:
    lang = Random(name).choice(["en", "zh"])
    return Asked(name, files, (*(["--target", target] if target else []), "--lang", lang))


def cases() -> list[Asked]:
    """Return every row of tests/cases."""
    rows = [
        json.loads(line)
        for path in sorted((ROOT / "tests" / "cases").glob("*.jsonl"))
        for line in path.read_text("utf-8").splitlines()
    ]
    return [_asked(row["id"], row["files"], row["target"]) for row in rows]


def fixtures() -> list[Asked]:
    """Return every fixture of the rules, without what it says of a host: a browser knows none."""
    found = []
    for path in sorted((ROOT / "tests" / "rules").glob("PD*/*")):
        inner = sorted(path.iterdir()) if path.is_dir() else [path]
        files = {
            one.name: one.read_bytes().decode("utf-8", "surrogateescape")
            for one in inner
            if one.is_file() and not one.name.endswith("host.json")
        }
        if any("\udc80" <= sign <= "\udcff" for text in files.values() for sign in text):
            continue  # not UTF-8: a browser's page holds text
        target = next((match[1] for text in files.values() if (match := _TARGET.search(text))), None)
        if files:
            found.append(_asked(f"{path.parent.name}/{path.name}", files, target))
    return found


def examples() -> list[Asked]:
    """Return what the pages show: examples of the rules, and the files of the guide."""
    found = [_asked(path.name, {path.name: path.read_text("utf-8")}, None) for path in _example_files()]
    for page in sorted([*(ROOT / "docs" / "rules").glob("PD*.md"), *(ROOT / "docs" / "guide").glob("*.md")]):
        for block in blocks(page.read_text("utf-8")):
            suffix = _SUFFIXES.get(block.language)
            if suffix or block.mark == "file":
                name = block.value if block.mark == "file" else f"example{suffix}"
                found.append(_asked(f"{page.name}:{block.line}", {name: block.body}, None))
    return found


def _example_files() -> Iterator[Path]:
    yield from sorted((ROOT / "docs" / "examples").iterdir())
    yield from sorted((ROOT / "profiles").glob("*.yaml"))
