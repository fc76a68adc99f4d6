#!/usr/bin/env python3
"""Write the tables of what each release of vLLM and vllm-ascend knows, from the releases themselves.

    python scripts/read_release.py vllm 0.32.0
    python scripts/read_release.py vllm-ascend 0.25.1rc1
    python scripts/read_release.py --new
    python scripts/read_release.py --all
    python scripts/read_release.py --verify [--all]

A release's Python files come out of the cache of release_archives.py and are read by launcher/builds, without importing
them. ``--new`` asks the package index which releases have no table yet, and reads nothing. ``--verify`` writes nothing
and says where reading gives something else than the tables: the newest two releases of each project, or all. The
status is 1 where something differs or cannot be read, and 2 where nothing does and a release was not to be had. What is
written is one file for each project in schemas/releases/data, in which every entry stands once with the releases that
have it, and schemas/core/flag_shapes.py: how a command line is split into flags and values.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from packaging.version import Version
from release_archives import DISTRIBUTIONS, ReadError, python_files, rows, source_name
from release_ranges import DATA, differences, store, unfold
from release_shapes import write_shapes

ROOT = Path(__file__).resolve().parent.parent
_VERIFIED = 2
"""Releases of each project that ``--verify`` alone looks at."""


def main() -> int:
    """Read the releases that the arguments name; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", nargs="?", choices=sorted(DISTRIBUTIONS))
    parser.add_argument("release", nargs="?")
    parser.add_argument("--all", action="store_true", help="read every release that the tables know")
    parser.add_argument("--new", action="store_true", help="name the published releases that have no table; 1 if any")
    parser.add_argument("--verify", action="store_true", help="compare the tables with the releases; write nothing")
    parser.add_argument(
        "--shapes", action="store_true", help="only write flag_shapes.py, from the tables that are there"
    )
    options = parser.parse_args()
    if options.new:
        return _name_new()
    if options.project and options.release:
        wanted = [(options.project, options.release)]
    elif options.all or options.verify:
        newest = None if options.all else -_VERIFIED
        wanted = [(project, release) for project in DISTRIBUTIONS for release in rows(project)[newest:]]
    elif options.shapes:
        wanted = []
    else:
        parser.error("name a project and a release, or give --new, --verify or --all")
    statuses = {_done(project, release, options.verify) for project, release in wanted}
    if not options.verify:
        write_shapes(DATA)
    return 1 if 1 in statuses else max(statuses, default=0)


def _done(project: str, release: str, verify: bool) -> int:
    """Verify or write one release's table and say what came of it; return the status."""
    try:
        python_files(project, release)
    except ReadError as error:
        print(f"{project} {release}: {error}", file=sys.stderr)
        return 2
    try:
        said = verified(project, release) if verify else write_table(project, release)
    except ReadError as error:
        print(f"{project} {release}: {error}", file=sys.stderr)
        return 1
    print(f"{project} {release}: {said or 'as in the table'}", flush=True)
    return int(verify and bool(said))


def _name_new() -> int:
    """Print the releases that the package index has and the tables lack; return 1 if there is one."""
    found = 0
    for project in DISTRIBUTIONS:
        try:
            missing = new_releases(rows(project), published(project))
        except ReadError as error:
            print(f"{project}: {error}", file=sys.stderr)
            return 1
        print(f"{project}: {', '.join(missing) or 'none'} without a table")
        found += len(missing)
    return 1 if found else 0


def published(project: str) -> list[str]:
    """Return every release that the package index has; of vLLM only final ones, as pip counts them.

    Raises:
        ReadError: pip could not ask.
    """
    options = ["--pre"] if project == "vllm-ascend" else []
    command = [sys.executable, "-m", "pip", "index", "versions", *options, project]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    line = next((line for line in done.stdout.splitlines() if line.startswith("Available versions:")), None)
    if line is None:
        raise ReadError(f"pip names no versions: {(done.stderr.strip().splitlines() or ['no output'])[-1]}")
    return line.partition(":")[2].replace(" ", "").split(",")


def new_releases(known_rows: list[str], there: list[str]) -> list[str]:
    """Return the releases from the oldest row on that are no row, oldest first."""
    known = {Version(row) for row in known_rows}
    found = {Version(name) for name in there} - known
    return [str(version) for version in sorted(found) if version > min(known)]


def write_table(project: str, release: str) -> str:
    """Read a release, put it into its project's table, and say what happened.

    Raises:
        ReadError: it cannot be had, or something of it cannot be read.
    """
    archive = python_files(project, release)
    changed = store(DATA, project, release, source_name(archive), read_table(project, archive))
    return "changed" if changed else "as it was"


def verified(project: str, release: str) -> str:
    """Say where reading a release gives something else than its table; nothing where it gives the same.

    Raises:
        ReadError: it cannot be had, or something of it cannot be read.
    """
    table = unfold(json.loads((DATA / f"{project}.json").read_text(encoding="utf-8")))[release]
    return "; ".join(differences(table, read_table(project, python_files(project, release))))


def read_table(project: str, archive: Path) -> dict[str, dict[str, Any]]:
    """Return what the files in a zip of the cache say.

    Raises:
        ReadError: something of it cannot be read.
    """
    from pd_launch.launcher.builds.files import Held
    from pd_launch.launcher.builds.tables import read_ascend, read_vllm

    with zipfile.ZipFile(archive) as file:
        held = Held({name: file.read(name) for name in file.namelist() if name.endswith(".py")})
    reading = read_vllm(held) if project == "vllm" else read_ascend(held)
    if reading.unread:
        raise ReadError("; ".join(f"{section}: {reason}" for section, reason in reading.unread.items()))
    return reading.sections


if __name__ == "__main__":
    sys.exit(main())
