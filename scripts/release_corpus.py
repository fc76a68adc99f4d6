"""Which of our own inputs get another verdict under a release that the tables do not have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from release_ranges import Table

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.schemas.core.build import BuiltPart, ReadBuild
from pd_launch.schemas.core.target import Target, ascend_target, vllm_target
from pd_launch.schemas.core.values import SourceFile

ROOT = Path(__file__).resolve().parent.parent
Inputs_ = dict[str, str]


def corpus() -> Iterator[tuple[str, Inputs_, str | None]]:
    """Give name, files and target of every input: rules' fixtures, real configurations, shipped profiles."""
    for path in sorted((ROOT / "tests" / "rules").glob("PD*/*.*")):
        if path.is_file() and path.suffix in (".sh", ".yaml", ".yml", ".txt", ".py"):
            yield f"tests/rules/{path.parent.name}/{path.name}", {path.name: path.read_text("utf-8")}, None
    for name in ("cases", "good", "own"):
        for line in (ROOT / "tests" / "cases" / f"{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            yield f"tests/cases/{name}.jsonl {row['id']}", row["files"], row["target"]
    for path in sorted((ROOT / "profiles").glob("*.yaml")):
        yield f"profiles/{path.name}", {path.name: path.read_text("utf-8")}, None


def built(project: str, release: str, known: str, tables: Table, vllm: Table | None = None) -> Target:
    """Return a release as a target whose own tables count, and for the rest the facts of the row ``known``."""
    part = BuiltPart(release, known, False, tables)
    if project == "vllm":
        row = vllm_target(known, "path")
        return Target(None, row.vllm, "path", release, ReadBuild(f"watch {release}", release, release, vllm=part))
    row = ascend_target(known, "path")
    under = BuiltPart(None, row.vllm, False, vllm) if vllm is not None else None
    build = ReadBuild(f"watch {release}", release, release, vllm=under, ascend=part)
    return Target(row.vllm_ascend, row.vllm, "path", release, build)


def other_verdicts(known: Target, new: Target) -> Iterator[tuple[str, list[str], list[str]]]:
    """Give every input whose errors and warnings differ: name, what is found anew, what no longer."""
    before, after = _verdicts(known), _verdicts(new)
    for name in before:
        if before[name] != after[name]:
            yield name, sorted(after[name] - before[name]), sorted(before[name] - after[name])


@lru_cache(maxsize=2)  # the new release of one comparison is the old one of the next
def _verdicts(target: Target) -> dict[str, set[str]]:
    return {
        name: _codes(files, target)
        for name, files, written in corpus()
        if written is None or written.startswith("vllm:") != target.is_ascend
    }


def _codes(files: Inputs_, target: Target) -> set[str]:
    sources = [SourceFile(name, text) for name, text in files.items()]
    found = check(read(Inputs(sources, target=target)))
    return {finding.code for finding in found if finding.severity != "info"}
