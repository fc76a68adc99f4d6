"""Every input of the corpus that is clean under its own release, and the upgrades of it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.launcher.upgrade.rules_diff import masked
from pd_launch.launcher.upgrade.step import Step
from pd_launch.launcher.upgrade.work import Upgrade, upgrade
from pd_launch.schemas.core.target import Target, parse_target, rows
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.finding import Finding

HERE = Path(__file__).parent
CASES = HERE.parent / "cases"
FIXTURES = HERE.parent / "rules"
_SETTING = re.compile(r"# pd-test:[^\n]*\btarget=(?P<target>\S+)")
_REMARK = re.compile(r"(?m)(?:^|\s)#(?!!)[^\n]*$")


@dataclass(frozen=True)
class Item:
    """One input with the release that it is for."""

    name: str
    files: tuple[tuple[str, str], ...]
    target: str


def corpus() -> list[Item]:
    """Return the cases and the silent fixtures that name their release."""
    return [*_cases(), *_fixtures()]


def _cases() -> Iterator[Item]:
    for name in ("cases", "good", "own", "forms", "more"):
        for line in (CASES / f"{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            if row["target"] and not row["host"]:
                yield Item(row["id"], tuple(row["files"].items()), row["target"])


def _fixtures() -> Iterator[Item]:
    for path in sorted(FIXTURES.glob("PD*/*.silent.*")):
        text = path.read_text("utf-8", "replace")
        found = _SETTING.search(text)
        if found is not None:
            yield Item(f"{path.parent.name}/{path.name}", ((path.name, text),), found["target"])


def sources(files: dict[str, str]) -> list[SourceFile]:
    return [SourceFile(name, text) for name, text in files.items()]


@cache
def clean(item: Item) -> bool:
    """Whether check has no error for an item under its own release, and it holds an engine."""
    target = parse_target(item.target)
    deployments = read(Inputs(sources(dict(item.files)), target=target))
    engines = any(deployment.nodes for deployment in deployments)
    return engines and not any(finding.severity == "error" for finding in check(deployments))


def later(item: Item) -> list[Target]:
    """Return the rows behind an item's own."""
    own = parse_target(item.target)
    family = [row for row in rows(own.is_ascend) if row.row != "0.23.0.post1"]
    names = [row.row for row in family]
    return family[names.index(own.row) + 1 :] if own.row in names else []


def upgraded(files: dict[str, str], a: Target, b: Target, unsafe: bool) -> Upgrade:
    return upgrade(Inputs(sources(files)), Step(a, b), unsafe)


def errors(files: dict[str, str], target: Target) -> list[Finding]:
    deployments = read(Inputs(sources(files), target=target))
    return [finding for finding in check(deployments) if finding.severity == "error"]


def remarks(text: str) -> Counter[str]:
    """Return the comments of a text, those that name a release without it."""
    found = (match[0].strip() for match in _REMARK.finditer(text))
    return Counter(masked(re.sub(r"\s+\\$", "", one)) for one in found)


def faults(item: Item, b: Target, unsafe: bool) -> list[str]:
    """Return what is wrong with the upgrade of an item to a release."""
    a = parse_target(item.target)
    files = dict(item.files)
    found = upgraded(files, a, b, unsafe)
    wrong = []
    by_hand = {entry.subject for entry in found.entries if not entry.written}
    places = {(entry.origin.file, entry.origin.line) for entry in found.entries if not entry.written}
    for one in errors(found.texts, b):
        if one.code not in by_hand and (one.file, one.line) not in places and not _named(one, found):
            wrong.append(f"unnamed {one.code} {one.file}:{one.line} {one.message}")
    again = upgraded(dict(found.texts), a, b, unsafe)
    if again.texts != found.texts:
        wrong.append("a second run changes something")
    for path, text in files.items():
        lost = remarks(text) - remarks(found.texts[path])
        if lost and path.endswith((".sh", ".yaml", ".yml", ".py")):
            wrong.append(f"comments lost: {list(lost)[:3]}")
    for entry in found.entries:
        if not (entry.why.en and entry.why.zh):
            wrong.append(f"no reason: {entry.subject}")
    return wrong


def _named(one: Finding, found: Upgrade) -> bool:
    """Whether an entry that is not written speaks of what a finding names."""
    left = [entry for entry in found.entries if not entry.written]
    return any(entry.before and entry.before.split("=")[0] in one.message for entry in left)
