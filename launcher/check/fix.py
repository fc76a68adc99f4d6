"""Fixes as text splices: all else in a file stays as it is, and no fix is kept that a second look finds fault with.

A fixed file is read again and checked with *all* rules, whatever was selected or is ignored by a comment. It must hold
the same engines, launched as before but for the change, and have no new finding; the finding itself must be gone. What
does not pass is refused with the reason. Several fixes are tried together, and apart only where that fails.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import pairwise

from pd_launch.launcher import budget
from pd_launch.launcher.check.fix_facts import Facts, Touched, facts_of, lost_fact
from pd_launch.launcher.check.run import Selection, run_checks, unfiltered
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.schemas.core.findings import Edit, Finding
from pd_launch.schemas.core.launch import Deployment
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import SourceFile

MAX_ROUNDS = 20
"""How often the fixes that are left are tried again after others were made."""
MAX_CHECKS = 200
"""Checks of one group of files on one call: most need three."""


@dataclass(frozen=True)
class Refusal:
    """A fix that was not made, and why."""

    finding: Finding
    reason: Msg


Shown = Callable[[str, str], str]
"""Makes of a file's path and text what may be shown of it."""


def as_it_is(_: str, text: str) -> str:
    """Show a text as it is."""
    return text


@dataclass
class Fixed:
    """The texts after fixing, by path, what was fixed, and what was refused."""

    before: dict[str, str]
    after: dict[str, str]
    done: list[Finding] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)

    @property
    def changed(self) -> list[str]:
        """Paths whose text changed."""
        return [path for path, text in self.after.items() if text != self.before[path]]

    def diff(self, before_as: Shown = as_it_is, after_as: Shown = as_it_is) -> str:
        """Return the changes as a unified diff; both texts of a file are shown as the functions make them."""
        from difflib import unified_diff

        lines: list[str] = []
        for path in self.changed:
            before = before_as(path, self.before[path]).splitlines(True)
            after = after_as(path, self.after[path]).splitlines(True)
            for line in unified_diff(before, after, f"a/{path.lstrip('/')}", f"b/{path.lstrip('/')}"):
                lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
        return "".join(lines)


def fix_inputs(
    inputs: Inputs, selection: Selection, unsafe: bool, lang: str = "en", within: Collection[str] | None = None
) -> Fixed:
    """Apply the fixes of ``inputs``' findings until none is left that passes.

    Args:
        inputs: the files of a call.
        selection: which rules' fixes are wanted.
        unsafe: whether to apply fixes that are only plausible.
        lang: language of the findings in the result.
        within: the files that fixes may write to, where not all of them.
    """
    texts = {source.path: source.text for source in inputs.files}
    fixed = Fixed(dict(texts), texts)
    for group in _groups(inputs, () if inputs.separate else read(inputs)):
        trial = _Trial(replace(inputs, files=[source for source in inputs.files if source.path in group]), lang)
        trial.within = within
        trial.fix_all(selection, unsafe)
        fixed.after.update(trial.texts)
        fixed.done += trial.done
        fixed.refused += trial.refused.values()
    return fixed


def vetted(
    inputs: Inputs, deployments: Sequence[Deployment], findings: Sequence[Finding], lang: str = "en"
) -> list[Finding]:
    """Return findings with the fixes alone that would be made: what is published can be applied as it is.

    Args:
        inputs: the files of a call.
        deployments: what they were read as.
        findings: what was found in them.
        lang: language of the findings.
    """
    fixable = [finding for finding in findings if finding.fix]
    refused: dict[_Key, Refusal] = {}
    groups = _groups(inputs, deployments) if fixable else []
    for group in groups:
        own = [finding for finding in fixable if finding.file in group]
        if own:
            files = [source for source in inputs.files if source.path in group]
            refused |= _Trial(replace(inputs, files=files), lang).vet(own)
    ours = set().union(*groups)  # what an input names and nobody gave is read, never written
    lost = {f.identity() for f in fixable if f.file not in ours or f.identity() in refused}
    return [replace(f, fix=None) if f.fix and f.identity() in lost else f for f in findings]


def make_fixes(inputs: Inputs, findings: Sequence[Finding], lang: str = "en") -> dict[str, str]:
    """Return the texts of ``inputs`` with the fixes of these findings that pass, and no others."""
    trial = _Trial(inputs, lang)
    trial.make_only(findings)
    return trial.texts


def vetted_profile(findings: list[Finding], deployment: Deployment, lang: str) -> list[Finding]:
    """Return the findings on a profile's deployment with the fixes alone that would be made."""
    if not any(finding.fix for finding in findings):
        return findings
    files = list(deployment.sources.values())
    return vetted(Inputs(files, target=deployment.target, host=deployment.host), [deployment], findings, lang)


_Key = tuple[str, str, int, int, str]


def _groups(inputs: Inputs, deployments: Sequence[Deployment]) -> list[set[str]]:
    """Return the paths of the call's files in groups that have a deployment in common."""
    groups: list[set[str]] = []
    if inputs.separate:
        return [{source.path} for source in inputs.files]
    for deployment in deployments:
        paths = {source.path for source in inputs.files} & set(deployment.sources)
        joined = [group for group in groups if group & paths]
        groups = [group for group in groups if not group & paths]
        if paths:
            groups.append(paths.union(*joined))
    return groups


@dataclass
class _State:
    """What a reading of the files gives."""

    deployments: list[Deployment]
    findings: list[Finding]
    facts: Facts


class _Trial:
    """Tries fixes on the files of one group. All edits of one round have their places in the texts at its start."""

    def __init__(self, inputs: Inputs, lang: str) -> None:
        self.inputs = inputs
        self.lang = lang
        self.checks = 0
        self.began = time.process_time()
        self.texts = {source.path: source.text for source in inputs.files}
        self.state = self._look(self.texts)
        self.accepted: list[Finding] = []
        self.better = (self.texts, self.state)
        self.done: list[Finding] = []
        self.refused: dict[_Key, Refusal] = {}
        self.within: Collection[str] | None = None

    def fix_all(self, selection: Selection, unsafe: bool) -> None:
        """Make every fix that passes; what is refused at the end is in ``refused``."""
        for _ in range(MAX_ROUNDS):
            findings = run_checks(self.state.deployments, selection, self.lang).findings
            wanted = [f for f in findings if f.fix and (f.fix.safe or unsafe) and self._writable(f)]
            self.refused = {}
            for batch in _batches(wanted):
                if not self.accepted:  # a fix that touches one that was made may look different in the next round
                    self._make(batch)
            if not self.accepted:
                return
            self.done += self.accepted
            self.texts, self.state = self.better
            self.accepted = []

    def make_only(self, findings: Sequence[Finding]) -> None:
        """Make the fixes of these findings that pass."""
        for batch in _batches([finding for finding in findings if self._writable(finding)]):
            if not self.accepted:  # places of a later one are those of the text before
                self._make(batch)
        if self.accepted:
            self.texts, self.state = self.better
            self.accepted = []

    def vet(self, findings: Sequence[Finding]) -> dict[_Key, Refusal]:
        """Return the fixes that would not pass on the files as they are."""
        for batch in _batches([finding for finding in findings if self._writable(finding)]):
            self._make(batch)
            self.accepted, self.better = [], (self.texts, self.state)
        return self.refused

    def _writable(self, finding: Finding) -> bool:
        writable = self.texts if self.within is None else self.within
        return finding.fix is not None and all(edit.file in writable for edit in finding.fix.edits)

    def _make(self, batch: Sequence[Finding]) -> None:
        """Accept fixes that do not touch each other, in halves where they do not pass together."""
        reason = self._try([*self.accepted, *batch])
        if reason is None:
            self.accepted += batch
        elif len(batch) == 1:
            self.refused[batch[0].identity()] = Refusal(batch[0], reason)
        else:
            self._make(batch[: len(batch) // 2])
            self._make(batch[len(batch) // 2 :])

    def _try(self, findings: Sequence[Finding]) -> Msg | None:
        """Look at the texts with all of ``findings`` fixed; return what speaks against that."""
        edits = [edit for finding in findings if finding.fix for edit in finding.fix.edits]
        changes = {path: change(text, [e for e in edits if e.file == path]) for path, text in self.texts.items()}
        possible = {path: changed for path, changed in changes.items() if changed is not None}
        if len(possible) < len(changes):
            return Msg("its edits overlap", "它的几处修改互相重叠")
        if self.checks >= MAX_CHECKS or time.process_time() - self.began > budget.SECONDS:
            return Msg("too many fixes were tried before it", "在它之前已经试过太多修复")
        texts = {path: changed.text for path, changed in possible.items()}
        after = self._look(texts)
        reason = _objection(findings, self.state, after, possible)
        if reason is None:
            self.better = (texts, after)
        return reason

    def _look(self, texts: Mapping[str, str]) -> _State:
        self.checks += 1
        files = [SourceFile(path, text) for path, text in texts.items()]
        with budget.limited():
            deployments = read(replace(self.inputs, files=files))
        with budget.limited():
            return _State(deployments, unfiltered(deployments, self.lang), facts_of(deployments))


def _objection(batch: Sequence[Finding], before: _State, after: _State, changes: Mapping[str, Change]) -> Msg | None:
    """Return what speaks against fixes that lead from one state to the other."""
    if not _same_shape(before.deployments, after.deployments):
        return Msg("the file would be read as something else", "文件会被当成另一种形式来读")
    old, new, made = _counts(before.findings), _counts(after.findings), _counts(batch)
    said, left, there = (Counter(map(_said, some)) for some in (batch, after.findings, before.findings))
    more = {key for key, count in new.items() if count > old[key] - made[key]}
    risen = (f for f in after.findings if left[_said(f)] > there[_said(f)])
    worse = next((f for f in risen if (f.code, f.file) in more), None)
    if worse is not None:
        return Msg(f"it would cause {worse.code}: {worse.message}", f"会带来 {worse.code}：{worse.message}")
    if any(left[key] > there[key] - count for key, count in said.items()):
        return Msg("the finding would still be there", "问题仍然存在")
    lost = lost_fact(before.facts, after.facts, {path: changed.touched for path, changed in changes.items()})
    if lost is not None:
        return Msg(f"it would also change {lost}", f"还会改变 {lost}")
    return None


def _same_shape(before: Sequence[Deployment], after: Sequence[Deployment]) -> bool:
    """Whether both are deployments of the same forms and numbers of engines; where none could be read, some may be."""
    return len(before) == len(after) and all(
        old.forms == new.forms and len(old.nodes) in (0, len(new.nodes)) for old, new in zip(before, after, strict=True)
    )


def _said(finding: Finding) -> tuple[str, str, str]:
    return (finding.code, finding.file, finding.message)


def _counts(findings: Iterable[Finding]) -> Counter[tuple[str, str]]:
    return Counter((finding.code, finding.file) for finding in findings)


def _batches(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Return findings in groups whose fixes do not touch each other; the first group is as large as it can be."""
    batches: list[list[Finding]] = []
    for finding in findings:
        for batch in batches:
            if not any(_meet(finding, other) for other in batch):
                batch.append(finding)
                break
        else:
            batches.append([finding])
    return batches


def _meet(one: Finding, other: Finding) -> bool:
    assert one.fix is not None and other.fix is not None
    return any(
        a.file == b.file and _start(a) <= _end(b) and _start(b) <= _end(a)
        for a in one.fix.edits
        for b in other.fix.edits
    )


def _start(edit: Edit) -> tuple[int, int]:
    return edit.line, edit.column


def _end(edit: Edit) -> tuple[int, int]:
    return edit.end_line, edit.end_column


@dataclass(frozen=True)
class Change:
    """A text after some edits, with the places that they took before and take now."""

    text: str
    touched: Touched


def change(text: str, edits: Sequence[Edit]) -> Change | None:
    """Return ``text`` with all of ``edits`` made; None where two overlap or one lies outside."""
    source = SourceFile("", text)
    spans: list[tuple[int, int, str]] = []
    for edit in edits:
        if max(edit.line, edit.end_line) > len(source.starts):
            return None
        start, end = source.offset(edit.line, edit.column), source.offset(edit.end_line, edit.end_column)
        spans.append((start, end, edit.text))
    spans.sort(key=lambda span: span[:2])
    if any(first[1] > second[0] for first, second in pairwise(spans)):
        return None
    parts: list[str] = []
    new: list[tuple[int, int]] = []
    at = size = 0
    for start, end, written in spans:
        parts += [text[at:start], written]
        size += start - at
        new.append((size, size + len(written)))
        size += len(written)
        at = end
    return Change("".join([*parts, text[at:]]), Touched([(start, end) for start, end, _ in spans], new))
