"""schemas/core/flag_shapes.py: how a command line is split, written from the tables of all releases."""

from __future__ import annotations

import json
import textwrap
from itertools import groupby
from pathlib import Path

PATH = Path(__file__).resolve().parent.parent / "schemas" / "core" / "flag_shapes.py"
_HEAD = '''"""How the flags of ``vllm serve`` are split from their values, for all releases together.

Written by scripts/read_release.py from the tables in schemas/releases/data; do not edit. A flag that takes no value in
one release and one in another stands in the last set.
"""

from __future__ import annotations

'''


def write_shapes(data: Path, path: Path = PATH) -> None:
    """Write the module from every vLLM table in ``data``."""
    switches: set[str] = set()
    lists: set[str] = set()
    valued: set[str] = set()
    short: dict[str, str] = {}
    for name, ranges in json.loads((data / "vllm.json").read_text(encoding="utf-8"))["flags"].items():
        for _, _, value in ranges:
            entry = {"kind": value} if isinstance(value, str) else value
            also = entry.get("also", [])
            names = {name, *(other for other in also if not other.startswith("-"))}
            short |= {other: name for other in also if other.startswith("-")}
            if entry["kind"] in ("bool", "switch"):
                switches |= names
            else:
                (lists if entry.get("values", "?") != "?" else valued).update(names)
    switches -= valued | lists
    parts = [
        _set("SWITCHES", switches, "Flags without a value; most also exist as ``--no-NAME``."),
        _set("LISTS", lists - valued, "Flags that take one or more values."),
        _set("VALUED", valued, "Flags that take one value."),
        _mapping(dict(sorted(short.items()))),
    ]
    path.write_text(_HEAD + "\n\n".join(parts), encoding="utf-8")


def _set(name: str, words: set[str], meaning: str) -> str:
    body = "\n".join(_lines(list(letter)) for _, letter in groupby(sorted(words), lambda word: word[0]))
    return f'{name} = frozenset(\n    {{\n{body}\n    }}\n)  # fmt: skip\n"""{meaning}"""'


def _lines(words: list[str]) -> str:
    """Return words as lines; each letter begins a new one, so that one more word moves few others."""
    text = ", ".join(f'"{word}"' for word in words) + ","
    return textwrap.fill(text, 110, initial_indent=" " * 8, subsequent_indent=" " * 8, break_on_hyphens=False)


def _mapping(short: dict[str, str]) -> str:
    lines = "".join(f'    "{name}": "{long}",\n' for name, long in short.items())
    return f'SHORT = {{\n{lines}}}\n"""Short names and the long names they stand for."""\n'
