#!/usr/bin/env python3
"""Add a published release to the tables: one command, then a review of what it prints.

    python scripts/add_release.py vllm 0.34.0
    python scripts/add_release.py vllm-ascend 0.31.0rc1

It reads the release (scripts/read_release.py), writes its row and what it was built with (schemas/core/pairing.py),
and prints the checklist of what it changed, evidence of facts included. What is ticked off there is corrected in
schemas/releases. It ends with 1 where facts no longer hold, or where a name has no row yet.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

from packaging.version import Version
from read_release import write_table
from release_archives import ReadError
from release_ranges import DATA
from release_shapes import write_shapes

from pd_launch.schemas.releases.facts import Project, rows

ROOT = Path(__file__).resolve().parent.parent
PAIRING = ROOT / "schemas" / "releases" / "pairing.py"
_COMPANIONS = ("cann", "torch_npu", "mooncake")


def main() -> int:
    """Add the release that the arguments name; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", choices=get_args(Project))
    parser.add_argument("release")
    options = parser.parse_args()
    before = [row for row in rows(options.project) if Version(row) < Version(options.release)]
    if not before:
        parser.error(f"the oldest row is {rows(options.project)[0]}")
    try:
        print(f"table: {write_table(options.project, options.release)}", flush=True)
        companions = _companions(options.project, options.release)
    except ReadError as error:
        print(error, file=sys.stderr)
        return 2
    write_shapes(DATA)
    text = PAIRING.read_text(encoding="utf-8")
    PAIRING.write_text(with_row(text, options.project, options.release, companions), encoding="utf-8")
    return _review(options.project, options.release, before[-1])


def _companions(project: Project, release: str) -> dict[str, str]:
    from evidence import opened
    from release_extract import companions

    with opened(project, release) as files:
        return companions(files)


def with_row(text: str, project: Project, release: str, companions: dict[str, str]) -> str:
    """Return pairing.py's text with a release's row, in order; as it is where the row is there.

    Raises:
        KeyError: a vllm-ascend does not say which vLLM it is built for.
    """
    if project == "vllm":
        return _inserted(text, "VLLM_RELEASES = [", release, f'    "{release}",\n')
    text = _inserted(text, "ASCEND_PAIRS = {", release, f'    "{release}": "{companions["vllm"]}",\n')
    known = ", ".join(f'"{name}": "{companions[name]}"' for name in _COMPANIONS if name in companions)
    return _inserted(text, "ASCEND_COMPANIONS = {", release, f'    "{release}": {{{known}}},\n')


def _inserted(text: str, table: str, release: str, line: str) -> str:
    """Return the text with a line in a table, before that of the first newer release."""
    start = text.index(table)
    end = start + re.search(r"^[}\]]", text[start:], re.MULTILINE).start()  # type: ignore[union-attr]
    lines = text[start:end].splitlines(keepends=True)
    named = [re.match(r'\s+"([^"]+)"', one) for one in lines]
    if any(f'"{release}"' in one for one in lines):
        return text
    place = next((n for n, m in enumerate(named) if m and Version(m[1]) > Version(release)), len(lines))
    return text[:start] + "".join([*lines[:place], line, *lines[place:]]) + text[end:]


def _review(project: Project, release: str, before: str) -> int:
    """Print what the release changed, by a Python that has the new row; return 1 where facts no longer hold."""
    here = Path(__file__).parent
    words = ["--project", project, "--between", before, release]
    watch: list[str | Path] = [sys.executable, here / "release_watch.py", *words]
    subprocess.run(watch, check=False)
    return subprocess.run([sys.executable, here / "reread_evidence.py", project, release], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
