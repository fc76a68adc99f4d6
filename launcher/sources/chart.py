"""Templates of charts and playbooks as YAML: the branches of their conditions are alternatives, each read by itself.

Helm's ``{{- if … }}`` and Jinja's ``{% if … %}``, where they stand alone on a line. Which branch counts is known to
whoever fills the template in; a key in one of them and in the other stands once.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pd_launch.launcher.sources.limits import not_followed
from pd_launch.schemas.launch import Fault, NodeLaunch
from pd_launch.schemas.values import Node, SourceFile, Unknown

MAX_VARIANTS = 16
_CONTROL = re.compile(
    r"^[ \t]*(?:\{\{-?|\{%[-+]?)[ \t]*(?P<word>if|else|elif|end|endif|range|with|define|block|for|endfor|macro|endmacro)\b"
    r"(?P<condition>[^\n]{0,2000}?)(?:-?\}\}|[-+]?%\})[ \t]*\r?$",
    re.MULTILINE,
)
"""A line of nothing but a control action."""
_OPENS = ("if", "range", "with", "define", "block", "for", "macro")
TEMPLATE = "template"
"""The kind of fault of a template that cannot be read before it is filled in."""


@dataclass
class _Branch:
    start: int
    end: int = -1
    inner: list[_Chain] = field(default_factory=list)
    covered: bool = False

    def is_open(self) -> bool:
        """Whether the branch, or one inside of it, is in no variant yet."""
        return not self.covered or any(branch.is_open() for chain in self.inner for branch in chain.branches)


@dataclass
class _Chain:
    """A condition with its branches, or another action with a body, which has but one."""

    branches: list[_Branch]

    def chosen(self) -> int:
        """Return the first branch of which something is in no variant yet; else the first."""
        return next((number for number, branch in enumerate(self.branches) if branch.is_open()), 0)


@dataclass(frozen=True)
class Chart:
    """A template: the bodies of its actions, and the texts to read, which are one for each choice of branches."""

    variants: list[SourceFile]
    starts: list[int]
    paths: list[tuple[int, ...]]
    """From each of ``starts`` on, the bodies that are around."""
    faults: list[Fault]

    def path(self, offset: int) -> tuple[int, ...]:
        """Return the bodies of control actions that are around a place, by where they begin."""
        return self.paths[bisect_right(self.starts, offset) - 1]


def is_template(text: str) -> bool:
    """Whether something is filled into a text before it is YAML."""
    return "{{" in text or "{%" in text


def read_chart(source: SourceFile) -> Chart | None:
    """Return a file with control lines as a chart; None for any other."""
    if not is_template(source.text):
        return None
    root = _Branch(0, len(source.text))
    open_: list[_Chain] = []
    starts: list[int] = [0]
    paths: list[tuple[int, ...]] = [()]
    path: list[int] = []
    for line in _CONTROL.finditer(source.text):
        word = line["word"]
        if word in _OPENS:
            chain = _Chain([_Branch(line.end())])
            (open_[-1].branches[-1] if open_ else root).inner.append(chain)
            open_.append(chain)
            path.append(line.end())
        elif open_ and word in ("else", "elif"):
            open_[-1].branches[-1].end = line.start()
            open_[-1].branches.append(_Branch(line.end()))
            path[-1] = line.end()
        elif open_:
            open_.pop().branches[-1].end = line.start()
            path.pop()
        starts.append(line.end())
        paths.append(tuple(path))
    if len(starts) == 1:
        return None
    for chain in open_:  # never closed: to the end of the file
        chain.branches[-1].end = len(source.text)
    variants: list[SourceFile] = []
    faults: list[Fault] = []
    while not variants or any(branch.is_open() for chain in root.inner for branch in chain.branches):
        if len(variants) == MAX_VARIANTS:
            limit, limit_zh = f"more than {MAX_VARIANTS} ways to choose branches", f"分支的组合超过 {MAX_VARIANTS} 种"
            left = "the rest of this template's branches is not checked", "这个模板其余的分支没有检查"
            faults.append(not_followed(source.origin(0, 0), limit, limit_zh, *left))
            break
        variants.append(_without(source, list(_left_out(root))))
    return Chart(variants, starts, paths, faults)


def _left_out(branch: _Branch) -> Iterator[tuple[int, int]]:
    """Choose a branch of each condition inside; iterate over the others."""
    branch.covered = True
    for chain in branch.inner:
        chosen = chain.chosen()
        for number, other in enumerate(chain.branches):
            if number == chosen:
                yield from _left_out(other)
            else:
                yield other.start, other.end


def _without(source: SourceFile, parts: list[tuple[int, int]]) -> SourceFile:
    """Return a file with blanks for parts of it, so that all else keeps its place."""
    text, found, at = source.text, [], 0
    for start, end in sorted([*parts, *(line.span() for line in _CONTROL.finditer(text))]):
        if start >= at:  # else inside of a part that is left out
            found += [text[at:start], blanks(text[start:end])]
            at = end
    return SourceFile(source.path, going_on(text, "".join([*found, text[at:]])), source.exact)


def blanks(text: str) -> str:
    """Return as many blanks, on as many lines."""
    return re.sub(r"[^\n]", " ", text)


def going_on(before: str, after: str) -> str:
    """Return ``after``, in which lines of ``before`` became blanks, with commands that went on around them going on."""
    if "\\\n" not in after:
        return after
    lines, goes_on, at = after.split("\n"), False, 0
    for number, line in enumerate(lines):
        if goes_on and not line.strip() and before[at : at + len(line)].strip():
            lines[number] = f"{line[:-1]}\\"
        else:
            goes_on = line.rstrip().endswith("\\")
        at += len(line) + 1
    return "\n".join(lines)


def settle(node: NodeLaunch, chart: Chart, source: SourceFile) -> None:
    """Keep one of the arguments of one name that different branches give an engine: which counts is not known."""
    places: dict[str, set[tuple[int, ...]]] = {}
    for arg in node.args:
        if arg.origin.file == source.path:
            places.setdefault(arg.name, set()).add(chart.path(source.offset(arg.origin.line, arg.origin.column)))
    last = {arg.name: arg for arg in node.args if len(places.get(arg.name, ())) > 1}
    node.args = [arg for arg in node.args if last.get(arg.name, arg) is arg]
    node.args = [
        replace(arg, value=Node(Unknown(arg.name), arg.origin), more=()) if arg.name in last and arg.value else arg
        for arg in node.args
    ]


def same_engines(first: Sequence[NodeLaunch], others: Sequence[NodeLaunch]) -> bool:
    """Whether two readings of a template start the same."""
    return [_summary(node) for node in first] == [_summary(node) for node in others]


def _summary(node: NodeLaunch) -> tuple[object, ...]:
    arguments = [(arg.name, arg.origin, arg.value.plain() if arg.value else None) for arg in node.args]
    env = [(name, variable.value.plain(), variable.value.origin) for name, variable in node.env.items()]
    box = node.container
    image = box.image.plain() if box is not None and box.image is not None else None
    parts = [part.plain() for part in (*box.mounts, *box.devices, *box.resources.values())] if box is not None else []
    around = (box.host_network, box.memory and box.memory.plain(), box.shm_size and box.shm_size.plain()) if box else ()
    return node.origin, node.model and node.model.plain(), arguments, env, image, parts, around


def not_filled(fault: Fault) -> Fault:
    """Return what is said of a template that is no YAML before it is filled in, in place of a fault of its YAML."""
    return Fault(
        TEMPLATE,
        fault.origin,
        "this template is no YAML before it is filled in, and is not checked",
        "这个模板在渲染之前不是有效的 YAML,没有检查",
        help="fill it in first: `helm template . | pd-launch check -`",
        help_zh="请先渲染再检查:`helm template . | pd-launch check -`",
    )
