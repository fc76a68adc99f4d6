"""What entries of names have in common: the step between two releases, and what a row of the table comes to."""

from __future__ import annotations

from pd_launch.launcher.rules.edits import set_value
from pd_launch.launcher.upgrade.entries import Entry, Group, How, Kind
from pd_launch.launcher.upgrade.gone import Gone
from pd_launch.schemas.core.launch import Arg
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.target import Target, release
from pd_launch.schemas.core.values import Node
from pd_launch.schemas.releases.facts import Code, Documented, Fact


@dataclass(frozen=True)
class Step:
    """From which release to which."""

    a: Target
    b: Target

    @property
    def back(self) -> bool:
        """Whether the new release is the older one."""
        return vllm_order(self.b) < vllm_order(self.a)


def vllm_order(target: Target) -> tuple[object, ...]:
    """Return what orders releases of one family."""
    return (release(target.row), target.row)


def fate_of(row: Gone, stops: bool) -> tuple[Kind, How, Group]:
    """Return what a row of the table comes to; ``stops`` where the release refuses the name."""
    if row.fate == "renamed":
        return "renamed", "certain", "stops" if stops else "differs"
    if row.fate == "replaced":
        return "moved", "certain" if row.to else "by-hand", "stops" if stops else "differs"
    if row.fate == "deprecated":
        return "behaviour", "plausible", "cleans"
    if row.fate == "idle":
        return "removed", "certain", "stops" if stops else "cleans"
    return "removed", "plausible" if stops else "certain", "stops" if stops else "differs"


def lost_value_entry(subject: str, node: Node, row: Gone, step: Step, touches: frozenset[str]) -> Entry:
    """Return the entry of a value that the new release does not take."""
    new = row.to[1] if row.to is not None else ""
    old = row.name.rpartition("=")[2]
    how: How = "certain" if row.fate == "renamed" else "plausible"
    return Entry(
        "renamed", subject, node.origin, f"{subject} {old}", f"{subject} {new}", why_gone(row, step), row.source, how,
        "stops", lambda: [set_value(node, new)], touches, row.do,
    )  # fmt: skip


def why_gone(row: Gone, step: Step) -> Msg:
    """Return why a name is an entry: which release was the last with it."""
    owner = "vllm-ascend" if row.project == "vllm-ascend" else "vLLM"
    return Msg(f"{owner} {row.last} is the last release with it", f"{owner} {row.last} 是最后一个有它的版本")


def not_yet(subject: str, node_origin: Node | Arg, step: Step, stops: bool, first: str) -> Entry:
    """Return the entry of a name that the new release does not have and no row of the table speaks of."""
    origin = node_origin.origin if isinstance(node_origin, Arg) else (node_origin.key or node_origin.origin)
    gone_too = not step.back
    why = (
        Msg(f"{step.b} does not have it", f"{step.b} 没有它")
        if gone_too
        else Msg(f"{step.b} does not have it yet: it was added in {first}", f"{step.b} 还没有它：{first} 起才有")
    )
    do = Msg("remove it and do without", "删掉它，不再使用")
    return Entry(
        "removed", subject, origin, subject, "", why, f"tables: {first}", "by-hand", "stops" if stops else "differs",
        help=do,
    )  # fmt: skip


def came_back(row: Gone, step: Step) -> Msg:
    """Return why a name goes back to its older one."""
    return Msg(f"in {step.b} it still has its older name", f"在 {step.b} 里它仍用旧名称")


def source_of(fact: Fact) -> str:
    """Return where a fact can be read: a file of its first release, or a page."""
    for one in fact.evidence:
        if isinstance(one, Documented):
            return one.url
        if isinstance(one, Code):
            return f"{fact.project} {fact.first} {one.files.split()[-1]}"
    return f"{fact.project} {fact.first}"
