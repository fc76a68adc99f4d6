#!/usr/bin/env python3
"""Read the evidence of every fact in schemas/releases again, in the releases' own files.

    python scripts/reread_evidence.py vllm-ascend 0.30.0rc2
    python scripts/reread_evidence.py --all

It says what no longer holds, and ends with 1 if anything does not. The files come from the package index once, and are
kept in the cache (scripts/release_archives.py).
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from typing import get_args

from evidence import Files, broken, opened, quoted_words, unread_keys, wrong_companions
from release_archives import ReadError

from pd_launch.schemas.releases.facts import Code, Documented, Generated, Inherits, Project, Run, rows
from pd_launch.schemas.releases.registry import all_facts


def main() -> int:
    """Read the releases that the arguments name; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", nargs="?", choices=get_args(Project))
    parser.add_argument("release", nargs="?")
    parser.add_argument("--all", action="store_true", help="read every release that the tables know")
    parser.add_argument("--jobs", type=int, default=1, help="releases that are read at once (1)")
    options = parser.parse_args()
    if options.project and options.release:
        wanted: list[tuple[Project, str]] = [(options.project, options.release)]
    elif options.all:
        wanted = [(project, release) for project in get_args(Project) for release in rows(project)]
    else:
        parser.error("name a project and a release, or give --all")
    return _read(wanted, options.jobs, options.all)


def _read(wanted: list[tuple[Project, str]], jobs: int, whole: bool) -> int:
    found: list[str] = []
    words: dict[str, set[str]] = {}
    with ProcessPoolExecutor(jobs) as pool:
        for (project, release), (lines, read) in zip(wanted, pool.map(_one, wanted), strict=True):
            print(
                f"{project} {release}: {len(lines)} of the facts do not hold"
                if lines
                else f"{project} {release}: holds"
            )
            print("".join(f"  {line}\n" for line in lines), end="", flush=True)
            found += lines
            words[f"{project} {release}"] = read
    if whole:
        unread = unread_keys(words)
        print("".join(f"option of a connector that no release reads: {key}\n" for key in unread), end="")
        found += unread
    print(_summary())
    return 1 if found else 0


def _one(wanted: tuple[Project, str]) -> tuple[list[str], set[str]]:
    try:
        with opened(*wanted) as files:
            return contradictions(files), quoted_words(files)
    except ReadError as error:
        return [f"cannot be read: {error}"], set()


def contradictions(files: Files) -> list[str]:
    """Return, one a line, what a release's files contradict."""
    lines = [str(one) for one in broken(files)]
    return [*lines, *wrong_companions(files)] if files.project == "vllm-ascend" else lines


def _summary() -> str:
    facts = all_facts().values()
    read = sum(any(isinstance(e, (Code, Generated, Inherits)) for e in fact.evidence) for fact in facts)
    told = sum(all(isinstance(e, Documented) for e in fact.evidence) for fact in facts)
    run = sum(any(isinstance(e, Run) for e in fact.evidence) for fact in facts)
    return f"{len(facts)} facts: {read} read in files or tables, {run} run by a test, {told} only documented"


if __name__ == "__main__":
    sys.exit(main())
