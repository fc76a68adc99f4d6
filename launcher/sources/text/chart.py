"""Branches of a template: which of them are read together, and what is in different ones.

A key or an argument that is in one branch and in another occurs once; which of the two counts is not known.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from pd_launch.launcher.sources.text.limits import not_followed
from pd_launch.schemas.core.launch import Fault, NodeLaunch
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Node, Origin, SourceFile, Unknown

TEMPLATE = "template"
"""The kind of fault of a template that cannot be read before it is filled in."""
Span = tuple[int, int]


class Mark(Protocol):
    """A part of a template, as :class:`pd_launch.launcher.sources.text.templates.Part` is."""

    @property
    def end(self) -> int:
        """Where it ends."""

    @property
    def does(self) -> str:
        """``open``, ``else`` or ``close``, or something else."""


class Bodies(NamedTuple):
    """Where the bodies of conditions and loops are."""

    starts: Sequence[int]
    inside: Sequence[int]
    """From each of ``starts`` on, where the nearest body begins that is around; -1 for none."""

    @classmethod
    def of(cls, parts: Sequence[Mark]) -> Bodies:
        """Take the bodies from the parts of a template, in order."""
        starts, inside, around = [0], [-1], [-1]
        for part in parts:
            if part.does == "open":
                around.append(part.end)
            elif part.does == "else" and len(around) > 1:
                around[-1] = part.end
            elif part.does == "close" and len(around) > 1:
                around.pop()
            else:
                continue
            starts.append(part.end)
            inside.append(around[-1])
        return cls(starts, inside)

    def at(self, offset: int) -> int:
        """Return which body is the nearest around a place, by where it begins."""
        return self.inside[bisect_right(self.starts, offset) - 1]


def left_out(choices: Sequence[Sequence[Span]], most: int) -> Iterator[list[Span]]:
    """Choose a branch of each condition until each branch was chosen once, ``most`` times at most.

    Args:
        choices: the branches of each condition.
        most: how often.

    Yields:
        The branches that are not chosen, in order and none inside another.
    """
    conditions = sorted(choices, key=lambda branches: branches[0])
    waiting = sorted({branch for condition in conditions for branch in condition})
    for _ in range(most):
        out: list[Span] = []
        chosen: set[Span] = set()
        for condition in conditions:
            if _around(out, condition[0]):
                continue
            branch = next((branch for branch in condition if _any_in(waiting, branch)), condition[0])
            chosen.add(branch)
            for other in condition:
                if other != branch:
                    insort(out, other)
        waiting = [branch for branch in waiting if branch not in chosen]
        yield [span for span in out if span[0] < span[1]]
        if not waiting:
            return


def _around(spans: Sequence[Span], inner: Span) -> bool:
    """Whether one of several spans, which do not overlap, has another inside."""
    at = bisect_right(spans, (inner[0], inner[1])) - 1
    return at >= 0 and inner[0] >= spans[at][0] and inner[1] <= spans[at][1]


def _any_in(spans: Sequence[Span], around: Span) -> bool:
    """Whether one of several spans is another, or is in it."""
    at = bisect_left(spans, (around[0], around[0]))
    return at < len(spans) and spans[at][0] <= around[1] and spans[at][1] <= around[1]


def unread_branches(origin: Origin, most: int) -> Fault:
    """Say that not all branches of a template are read."""
    return not_followed(
        origin,
        Msg(
            f"more than {most} ways to choose between the branches of this template",
            f"这个模板的分支有超过 {most} 种选法",
        ),
        Msg("the rest of them are not checked", "其余的没有检查"),
        Msg(
            "check the rendered result: `helm template . | pd-launch check -`",
            "请检查渲染后的结果：`helm template . | pd-launch check -`",
        ),
    )


def settle(node: NodeLaunch, bodies: Bodies, source: SourceFile) -> None:
    """Keep one of the arguments of one name that different branches give an engine: which counts is not known."""
    places: dict[str, set[int]] = {}
    for arg in node.args:
        if arg.origin.file == source.path:
            places.setdefault(arg.name, set()).add(bodies.at(source.offset(arg.origin.line, arg.origin.column)))
    last = {arg.name: arg for arg in node.args if len(places.get(arg.name, ())) > 1}
    if last:
        kept = [arg for arg in node.args if last.get(arg.name, arg) is arg]
        unknown = [replace(a, value=Node(Unknown(a.name), a.origin), more=()) if a.name in last else a for a in kept]
        node.args = tuple(new if arg.value else arg for arg, new in zip(kept, unknown, strict=True))


def not_filled(fault: Fault) -> Fault:
    """Return what is said of a template that is no YAML before it is filled in, in place of a fault of its YAML."""
    return Fault(
        TEMPLATE,
        fault.origin,
        Msg(
            "this template is not YAML until it is rendered, so it is not checked",
            "这个模板在渲染之前不是有效的 YAML，没有检查",
        ),
        help=Msg(
            "render it first: `helm template . | pd-launch check -`",
            "请先渲染再检查：`helm template . | pd-launch check -`",
        ),
    )
