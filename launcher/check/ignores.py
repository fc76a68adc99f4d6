"""Ignore comments: ``# pd-launch: ignore[PD406] reason`` on a finding's line, or alone on the line above.

A comment above a statement that goes on over several lines (a shell command, a JSON value, a block of YAML) covers all
of them, since no comment can be inside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from itertools import islice

from pd_launch.launcher.rules.registry import all_rules
from pd_launch.launcher.sources.text.remarks import is_remark, opens_script
from pd_launch.schemas.core.findings import Finding
from pd_launch.schemas.core.launch import Deployment, Fault
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import Origin, SourceFile
from pd_launch.schemas.core.words import series

_COMMENT = lazy_pattern(r"#[ \t]*pd-launch:[ \t]*ignore(?P<list>\[(?P<codes>[^\]\n]*)\])?(?P<reason>[^\n]*)")


MAX_COMMENTS = 500


@dataclass
class Ignore:
    """One comment: which codes it names, and the lines that it covers."""

    origin: Origin
    codes: tuple[str, ...]
    first: int
    last: int
    used: set[str] = field(default_factory=set)
    beyond: bool = False
    """Whether it is where no more comments are read: it suppresses nothing."""

    def covers(self, finding: Finding) -> bool:
        """Whether ``finding`` is on the comment's lines and has one of its codes."""
        return finding.code in self.codes and self.spans(finding.file, finding.line)

    def spans(self, file: str, line: int) -> bool:
        """Whether a line is one of those that the comment covers."""
        return file == self.origin.file and self.first <= line <= self.last


def find_ignores(source: SourceFile, spans: Iterable[tuple[int, int]]) -> list[Ignore]:
    """Return the ignore comments of a file.

    Args:
        source: the file.
        spans: first and last line of each statement and value that may go on over several lines.
    """
    if "pd-launch:" not in source.text:
        return []
    ends: dict[int, int] = {}
    for first, last in spans:
        ends[first] = max(ends.get(first, 0), last)
    found: list[Ignore] = []
    after = 0
    matches = (match for match in _COMMENT.finditer(source.text) if is_remark(source, match.start()))
    for match in islice(matches, MAX_COMMENTS):
        line, column = source.place(match.start())
        before = source.line(line)[: column - 1]
        codes = tuple(code.strip().upper() for code in (match["codes"] or "").split(",") if code.strip())
        origin = source.origin(match.start(), match.end())
        if before.strip() and not opens_script(source, match.start()):
            found.append(Ignore(origin, codes, line, line))
            continue
        after = after if after > line else _next_code_line(source, line)  # comments below each other share one
        first = after
        last = _block_end(source, first) if source.path.endswith((".yaml", ".yml")) else first
        found.append(Ignore(origin, codes, first, max(last, ends.get(first, first))))
    further = next(matches, None)
    if further is not None:
        found.append(Ignore(source.origin(*further.span()), (), 0, -1, beyond=True))
    return found


def _block_end(source: SourceFile, first: int) -> int:
    """Return the last line of the YAML block that begins on ``first``: what is indented deeper belongs to it."""
    head = source.line(first)
    indent = len(head) - len(head.lstrip())
    last = first
    for number in range(first + 1, len(source.starts) + 1):
        text = source.line(number)
        if text.strip() and len(text) - len(text.lstrip()) <= indent:
            break
        last = number
    return last


def _next_code_line(source: SourceFile, line: int) -> int:
    for number in range(line + 1, len(source.starts) + 1):
        text = source.line(number).strip()
        if text and not text.startswith("#"):
            return number
    return line


def spans_of(deployment: Deployment, file: str) -> list[tuple[int, int]]:
    """Return first and last line of every statement and value of ``deployment`` in ``file``."""
    spans = []
    for node in deployment.nodes:
        spans.append((node.origin, node.origin))
        for arg in node.args:
            spans.append((arg.origin, arg.value.origin if arg.value is not None else arg.origin))
            if arg.value is not None:
                spans += [(part.key or part.origin, part.origin) for part in arg.value.walk()]
    return [(first.line, last.end_line) for first, last in spans if first.file == last.file == file]


def apply_ignores(
    findings: Sequence[Finding],
    deployment: Deployment,
    ran: Iterable[str],
    elsewhere: Callable[[str], Iterable[Origin]] = lambda _: (),
) -> tuple[list[Finding], int, list[Fault]]:
    """Leave out what is ignored.

    Args:
        findings: all findings of ``deployment``.
        deployment: the deployment, with its sources.
        ran: codes of the rules that were run; a code that was not run is not called unused.
        elsewhere: returns where a rule reports something under a release that the findings are not of.

    Returns:
        The findings that stay, how many were left out, and faults of kind ``ignore`` for comments that did nothing.
    """
    ignores = [
        ignore
        for source in deployment.sources.values()
        for ignore in find_ignores(source, spans_of(deployment, source.path))
    ]
    kept: list[Finding] = []
    for finding in findings:
        matching = [ignore for ignore in ignores if ignore.covers(finding)]
        for ignore in matching:
            ignore.used.add(finding.code)
        if not matching:
            kept.append(finding)
    return kept, len(findings) - len(kept), _unused(ignores, set(ran), elsewhere)


def _unused(ignores: Sequence[Ignore], ran: set[str], elsewhere: Callable[[str], Iterable[Origin]]) -> list[Fault]:
    faults = []
    for ignore in ignores:
        if ignore.beyond:
            en = f"more than {MAX_COMMENTS} ignore comments in one file: the rest are ignored"
            zh = f"一个文件里的 ignore 注释超过 {MAX_COMMENTS} 处：从这里起不再生效"
            help_ = Msg(
                "ignore the rule for the file, in pd-launch.toml", "请在 pd-launch.toml 里对整个文件忽略这条规则"
            )
            faults.append(Fault("ignore", ignore.origin, Msg(en, zh), help=help_))
            continue
        wrong = [code for code in ignore.codes if code not in all_rules()]
        idle = [code for code in ignore.codes if code in ran and code not in ignore.used and code not in wrong]
        idle = [code for code in idle if not any(ignore.spans(place.file, place.line) for place in elsewhere(code))]
        if not ignore.codes:
            en, zh = "this ignore has no code, so it ignores nothing", "这个 ignore 没有写规则代码，什么也没有忽略"
            faults.append(
                Fault(
                    "ignore", ignore.origin, Msg(en, zh), help=Msg("name it: ignore[PD406]", "写明代码：ignore[PD406]")
                )
            )
        elif wrong or idle:
            names = series([*wrong, *idle])
            en = f"this ignore of {names.en} suppresses nothing"
            zh = f"这里忽略 {names.zh} 没有作用"
            faults.append(Fault("ignore", ignore.origin, Msg(en, zh), help=Msg("remove it", "删掉它")))
    return faults
