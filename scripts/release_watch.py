#!/usr/bin/env python3
"""Say what published releases that the tables do not have would change here, as a checklist in Markdown.

    python scripts/release_watch.py
    python scripts/release_watch.py --as-of 0.27.1rc1

The package index is asked what is new, each release is read without importing it, and compared with the one before:
connectors, keys, flags, variables, defaults, log lines, refusals, evidence of facts, and our own inputs. ``--as-of``
takes the tables as if they ended with that vllm-ascend and its vLLM. It ends with 0 where nothing is new, 1 where
something is, and 2 where the index or a release could not be read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from evidence import opened, table_of
from packaging.version import Version
from read_release import new_releases, published, read_table
from release_archives import ReadError, python_files
from release_checklist import checklist
from release_corpus import built, other_verdicts
from release_extract import Extract, extract
from release_ranges import Table

from pd_launch.schemas.core.pairing import ASCEND_PAIRS
from pd_launch.schemas.core.target import ascend_target, vllm_target
from pd_launch.schemas.releases.facts import Project, rows

HEAD = """# Releases that the tables do not have

Adding one: docs/releasing.md. Tick what was looked at; what is wrong is corrected in `schemas/releases`.
"""


def main() -> int:
    """Print the checklist; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--as-of", metavar="RELEASE", choices=list(ASCEND_PAIRS), help="a vllm-ascend of the tables")
    parser.add_argument("--project", choices=get_args(Project), help="look at one project only")
    parser.add_argument("--between", nargs=2, metavar="RELEASE", help="compare two releases of --project, known or not")
    parser.add_argument("--no-corpus", action="store_true", help="leave our own inputs out, which take half a minute")
    parser.add_argument("--output", metavar="FILE", help="write the list there, where there is anything to say")
    options = parser.parse_args()
    if options.between and not options.project:
        parser.error("--between takes --project")
    projects = [options.project] if options.project else list(get_args(Project))
    try:
        lines = (
            list(between(options.project, options.between[0], options.between[1], not options.no_corpus))
            if options.between
            else [line for project in projects for line in watch(project, options.as_of, not options.no_corpus)]
        )
    except ReadError as error:
        print(error, file=sys.stderr)
        return 2
    if not lines:
        print("nothing is new")
        return 0
    text = "\n".join([HEAD, *lines])
    if options.output:
        Path(options.output).write_text(text, encoding="utf-8")
    else:
        print(text)
    return 1


def watch(project: Project, as_of: str | None, corpus: bool) -> Iterator[str]:
    """Give the checklist's lines of a project's new releases, oldest first.

    Raises:
        ReadError: the index, or a release, cannot be read.
    """
    known = known_rows(project, as_of)
    fresh = new_releases(known, published(project))
    before = None
    for release in (name for name in fresh if Version(name) > Version(known[-1])):
        before = before or read(project, known[-1], known[-1])
        after = read(project, release, known[-1])
        verdicts = _verdicts(project, known[-1], before, after) if corpus else ()
        yield from checklist(before, after, verdicts)
        before = after
    late = [name for name in fresh if Version(name) < Version(known[-1])]
    if late:
        yield f"Older than the newest row, and no rows: {project} {', '.join(late)}."


def between(project: Project, old: str, new: str, corpus: bool) -> Iterator[str]:
    """Give the checklist's lines of one release against another; facts are those of the older one's row.

    Raises:
        ReadError: one of them cannot be read.
    """
    before, after = read(project, old, old), read(project, new, old)
    yield from checklist(before, after, _verdicts(project, old, before, after) if corpus else ())


def known_rows(project: Project, as_of: str | None) -> list[str]:
    """Return the rows that the tables have, up to a release of vllm-ascend and its vLLM."""
    if as_of is None:
        return rows(project)
    newest = as_of if project == "vllm-ascend" else ASCEND_PAIRS[as_of]
    return [row for row in rows(project) if Version(row) <= Version(newest)]


def read(project: Project, release: str, known: str) -> Extract:
    """Return what a release says; its tables are read from its files where ours lack it."""
    tables = table_of(project, release) or read_table(project, python_files(project, release))
    with opened(project, release, tables) as files:
        return extract(files, tables, known)


def _verdicts(
    project: Project, known: str, before: Extract, after: Extract
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Give our own inputs whose verdict differs between two releases; facts are those of the newest row for both."""
    old = built(project, before["release"], known, before["tables"], _under(project, before))
    if before["release"] == known:
        old = vllm_target(known, "unknown") if project == "vllm" else ascend_target(known, "unknown")
    new = built(project, after["release"], known, after["tables"], _under(project, after))
    return other_verdicts(old, new)


def _under(project: Project, found: Extract) -> Table | None:
    """Return the tables of the vLLM that a vllm-ascend is built for; None where it does not say, or for vLLM."""
    release = found["companions"].get("vllm") if project == "vllm-ascend" else None
    if release is None:
        return None
    return table_of("vllm", release) or read_table("vllm", python_files("vllm", release))


if __name__ == "__main__":
    sys.exit(main())
