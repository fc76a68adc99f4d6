"""Which hits are listed: each once, and of one rule in one file no more than a person looks at; then how many more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace

from pd_launch.launcher.rules.registry import Hit, Rule
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.severity import RANK, Severity

MOST = 1000
"""Findings of one rule in one file."""


@dataclass
class _More:
    """What is not listed of one rule in one file: the first of it, the worst severity, and how many."""

    rule: Rule
    first: Hit
    worst: Severity
    count: int = 0


@dataclass
class Listed:
    """The hits of one deployment so far."""

    seen: set[tuple[object, ...]] = field(default_factory=set)
    counts: dict[tuple[str, str], int] = field(default_factory=dict)
    more: dict[tuple[str, str], _More] = field(default_factory=dict)

    def takes(self, rule: Rule, hit: Hit) -> bool:
        """Whether a hit is listed; one of those that are not is counted."""
        key = (rule.code, hit.origin, hit.message)
        if key in self.seen:
            return False  # what many engines share is found for each of them
        self.seen.add(key)
        place = (rule.code, hit.origin.file)
        self.counts[place] = self.counts.get(place, 0) + 1
        if self.counts[place] <= MOST:
            return True
        severity = hit.severity or rule.severity
        more = self.more.setdefault(place, _More(rule, hit, severity))
        more.count += 1
        more.worst = max(more.worst, severity, key=RANK.__getitem__)
        return False

    def rest(self) -> Iterator[tuple[Rule, Hit]]:
        """Iterate over what is said of the hits that are not listed."""
        for more in self.more.values():
            message = Msg(
                f"more than {MOST} findings of {more.rule.code} in this file: the rest are not listed",
                f"该文件中 {more.rule.code} 的结果超过 {MOST} 条：从这里起不再列出",
            )
            left = Msg(
                f"{more.count} more; check how the file was produced",
                f"还有 {more.count} 条；请查看这个文件是怎样生成的",
            )
            hit = replace(more.first, message=message, help=left, fix=None, related=(), severity=more.worst)
            yield more.rule, hit
