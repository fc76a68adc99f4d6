#!/usr/bin/env python3
"""Write tests/data/release_watch.json: the part of some releases' extracts that the replay of the watch looks at.

python scripts/record_watch.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from release_extract import Extract
from release_watch import read

PATH = Path(__file__).resolve().parent.parent / "tests" / "data" / "release_watch.json"
RELEASES = ("0.27.1rc1", "0.28.0rc1", "0.29.0rc1", "0.30.0rc1")
_LINES = ("preempt", "offload", "Recompute")
_REFUSALS = ("tensor_parallel_size", "reduce_sample", "ShortRequestFirst")


def main() -> int:
    """Read the releases and write what is needed of them."""
    found = [_part(read("vllm-ascend", release, RELEASES[0])) for release in RELEASES]
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def _part(found: Extract) -> dict[str, Any]:
    tables = {section: found["tables"][section] for section in ("connectors", "additional")}
    return {
        **found,
        "tables": tables,
        "logs": [text for text in found["logs"] if any(word in text for word in _LINES)],
        "refusals": [text for text in found["refusals"] if any(word in text for word in _REFUSALS)],
        "options": [],
        "words": {path: words for path, words in found["words"].items() if "kv_cache_dtype" in path},
    }


if __name__ == "__main__":
    sys.exit(main())
