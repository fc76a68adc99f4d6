"""Fixes as text splices: all else in the file stays as it is, and no fix is kept that makes anything worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from pd_launch.launcher.check import Selection, run_checks
from pd_launch.launcher.sources.read import Inputs, read
from pd_launch.schemas.finding import Edit, Finding
from pd_launch.schemas.values import SourceFile

MAX_ROUNDS = 400
"""Fixes that are tried on one call; each that is kept leaves fewer findings."""


@dataclass
class Fixed:
    """The texts after fixing, by path, and what was fixed."""

    before: dict[str, str]
    after: dict[str, str]
    done: list[Finding] = field(default_factory=list)

    @property
    def changed(self) -> list[str]:
        """Paths whose text changed."""
        return [path for path, text in self.after.items() if text != self.before[path]]

    def diff(self) -> str:
        """Return the changes as a unified diff."""
        from difflib import unified_diff

        lines: list[str] = []
        for path in self.changed:
            before, after = self.before[path].splitlines(True), self.after[path].splitlines(True)
            for line in unified_diff(before, after, f"a/{path.lstrip('/')}", f"b/{path.lstrip('/')}"):
                lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
        return "".join(lines)


def fix_inputs(inputs: Inputs, selection: Selection, unsafe: bool) -> Fixed:
    """Apply the fixes of ``inputs``' findings, again and again until none is left that helps.

    Args:
        inputs: the files of a call.
        selection: which rules count.
        unsafe: whether to apply fixes that are only plausible.
    """
    texts = {source.path: source.text for source in inputs.files}
    fixed = Fixed(dict(texts), texts)
    findings = _check(inputs, texts, selection)
    refused: set[tuple[str, str, str]] = set()
    for _ in range(MAX_ROUNDS):
        finding = next((f for f in _fixable(findings, texts, unsafe) if _key(f) not in refused), None)
        if finding is None:
            break
        better = _try(finding, inputs, texts, selection, findings)
        if better is None:
            refused.add(_key(finding))
            continue
        changed, findings = better
        refused.clear()  # what made things worse before may help now
        texts.update(changed)
        fixed.done.append(finding)
    return fixed


def _key(finding: Finding) -> tuple[str, str, str]:
    return (finding.code, f"{finding.file}:{finding.line}:{finding.column}", finding.message)


def _fixable(findings: Iterable[Finding], texts: dict[str, str], unsafe: bool) -> list[Finding]:
    return [
        finding
        for finding in findings
        if finding.fix and (finding.fix.safe or unsafe) and all(edit.file in texts for edit in finding.fix.edits)
    ]


def _check(inputs: Inputs, texts: dict[str, str], selection: Selection) -> list[Finding]:
    files = [SourceFile(path, text) for path, text in texts.items()]
    return run_checks(read(replace(inputs, files=files)), selection).findings


def _try(
    finding: Finding, inputs: Inputs, texts: dict[str, str], selection: Selection, findings: list[Finding]
) -> tuple[dict[str, str], list[Finding]] | None:
    """Apply one finding's fix in the quoting that fits its place; return None where no way makes things better."""
    assert finding.fix is not None
    for quote in _QUOTINGS:
        changed = _splice(texts, finding.fix.edits, quote)
        if changed is None:
            return None
        after = _check(inputs, {**texts, **changed}, selection)
        if not _worse(findings, after) and _gone(finding, findings, after):
            return changed, after
    return None


_QUOTINGS: tuple[Callable[[str], str], ...] = (
    lambda text: text,
    lambda text: text.replace('"', '\\"'),
    lambda text: text.replace("'", "'\\''"),
)
"""How a text is written where it stands: as it is, inside double quotes of a shell, inside single quotes."""


def _splice(texts: dict[str, str], edits: Sequence[Edit], quote: Callable[[str], str]) -> dict[str, str] | None:
    """Return the changed texts; None where edits overlap or lie outside."""
    changed: dict[str, str] = {}
    for path in dict.fromkeys(edit.file for edit in edits):
        source = SourceFile(path, texts[path])
        spans = []
        for edit in edits:
            if edit.file == path:
                if max(edit.line, edit.end_line) > len(source.starts):
                    return None
                start = source.offset(edit.line, edit.column)
                spans.append((start, source.offset(edit.end_line, edit.end_column), quote(edit.text)))
        spans.sort()
        if any(first[1] > second[0] for first, second in pairwise(spans)):
            return None
        text = source.text
        for start, end, new in reversed(spans):
            text = text[:start] + new + text[end:]
        changed[path] = text
    return changed


def _counts(findings: Iterable[Finding]) -> Counter[tuple[str, str]]:
    return Counter((finding.code, finding.severity) for finding in findings if finding.severity != "info")


def _worse(before: list[Finding], after: list[Finding]) -> bool:
    """Whether there are more errors or warnings of any code than before."""
    old = _counts(before)
    return any(count > old[key] for key, count in _counts(after).items())


def _gone(finding: Finding, before: list[Finding], after: list[Finding]) -> bool:
    def count(findings: list[Finding]) -> int:
        return sum(f.code == finding.code and f.file == finding.file for f in findings)

    return count(after) < count(before)
