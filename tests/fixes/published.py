"""What is wrong with a published fix: it is applied to the letter, and its result is read by all who read it."""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import yaml
from fixture import Files, Fixture
from stand_in import of_files
from twins import Twin

from pd_launch.launcher.check.run import check
from pd_launch.launcher.sources.read import Inputs, read, read_texts
from pd_launch.schemas.core.launch import Arg, NodeLaunch
from pd_launch.schemas.core.target import parse_target
from pd_launch.schemas.core.values import SourceFile
from pd_launch.schemas.finding import Edit, Finding

_COMMENT = re.compile(r"(?:^|\s)#")
_OF_COMMENTS = ("PD001", "PD013")
"""Rules whose fix may remove a comment: JSON has none, and one that ignores nothing goes."""
_SHOWS_MORE = ("PD001", "PD003")
"""Rules whose fix may show a further fault of the same kind: what stands behind a fault can be read then."""
_OF_LINE_ENDS = "PD003"


def findings(fixture: Fixture, files: Files) -> list[Finding]:
    """Return what is reported of a fixture's twin."""
    return check(read_texts(files, target=fixture.target, host=fixture.host))


def apply(files: Files, edits: Sequence[Edit]) -> Files:
    """Return the files with all edits made, each exactly at its place.

    Raises:
        ValueError: they overlap, or their place is in no file.
    """
    changed = dict(files)
    for name in {edit.file for edit in edits}:
        if name not in files:
            raise ValueError(f"there is no file {name}")
        source, text = SourceFile(name, files[name]), files[name]
        spans = sorted((*span_of(source, edit), edit.text) for edit in edits if edit.file == name)
        if any(first[1] > second[0] for first, second in pairwise(spans)):
            raise ValueError("edits overlap")
        for start, end, new in reversed(spans):
            if not 0 <= start <= end <= len(text):
                raise ValueError("an edit lies outside")
            text = text[:start] + new + text[end:]
        changed[name] = text
    return changed


def span_of(source: SourceFile, edit: Edit) -> tuple[int, int]:
    return source.offset(edit.line, edit.column), source.offset(edit.end_line, edit.end_column)


def faults(twin: Twin, before: list[Finding], finding: Finding) -> Iterator[str]:
    """Iterate over what is wrong with one finding's fix of a twin."""
    assert finding.fix is not None
    try:
        fixed = apply(twin.files, finding.fix.edits)
    except ValueError as error:
        yield str(error)
        return
    if fixed == twin.files:
        yield "it changes nothing"
        return
    yield from _of_places(twin, finding)
    yield from _of_findings(before, findings(twin.fixture, fixed), finding)
    for name, text in fixed.items():
        before_text = twin.files[name]
        if text == before_text:
            continue
        yield from _of_syntax(name, before_text, text)
        if not _is_mixed(before_text) and _is_mixed(text) and finding.code != _OF_LINE_ENDS:
            yield "its line ends are not those of the file"
    if twin.runs:
        yield from misread(twin, fixed)


def _is_mixed(text: str) -> bool:
    """Whether some of a text's lines end in CR LF, and others do not."""
    return 0 < text.count("\r\n") < text.count("\n")


def _of_places(twin: Twin, finding: Finding) -> Iterator[str]:
    assert finding.fix is not None
    for edit in finding.fix.edits:
        source = SourceFile(edit.file, twin.files[edit.file])
        start, end = span_of(source, edit)
        gone = source.text[start:end]
        whole = edit.column == 1 and (edit.end_column == 1 or end == len(source.text))
        if gone.count("\n") and not edit.text and not whole:
            yield f"it joins lines: {gone!r}"
        if _COMMENT.search(gone) and not _COMMENT.search(edit.text) and finding.code not in _OF_COMMENTS:
            yield f"it removes a comment: {gone!r}"


def _of_findings(before: list[Finding], after: list[Finding], finding: Finding) -> Iterator[str]:
    def left(found: list[Finding], *names: str) -> int:
        return sum(all(getattr(f, name) == getattr(finding, name) for name in names) for f in found)

    if left(after, "code", "message") >= left(before, "code", "message"):
        yield "the finding is still there"
    elif left(after, "code") >= left(before, "code") and finding.code not in _SHOWS_MORE:
        yield "another finding of the rule is there instead: " + _shown(f for f in after if f.code == finding.code)
    old, new = (Counter(f.code for f in found if f.severity == "error") for found in (before, after))
    more = [f for f in after if f.severity == "error" and new[f.code] > old[f.code]]
    if more:
        yield f"new: {_shown(more)}"


def _shown(found: Iterable[Finding]) -> str:
    return "; ".join(f"{f.line}:{f.column} {f.code} {f.message}" for f in list(found)[:3])


def _of_syntax(name: str, before: str, after: str) -> Iterator[str]:
    if name.endswith(".sh"):
        if not shell_fault(before) and (fault := shell_fault(after)):
            yield f"bash -n: {fault}"
    elif name.endswith(".py"):
        if parses_as_python(before) and not parses_as_python(after):
            yield "it is no Python any more"
    elif name.endswith((".yaml", ".yml")) and parses_as_yaml(before) and not parses_as_yaml(after):
        yield "it is no YAML any more"


@lru_cache(maxsize=256)
def shell_fault(text: str) -> str:
    """Return what bash says of a script's syntax; nothing if it is right."""
    done = subprocess.run(["bash", "-n"], input=text.encode(), capture_output=True, timeout=20, check=False)
    return done.stderr.decode("utf-8", "replace").strip() if done.returncode else ""


def parses_as_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


@lru_cache(maxsize=64)
def parses_as_yaml(text: str) -> bool:
    try:
        for _ in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            pass
    except yaml.YAMLError:
        return False
    return True


def misread(twin: Twin, files: Files) -> Iterator[str]:
    """Compare what really starts with what the checker reads of the files.

    Where a line is torn apart, it reads what was meant.
    """
    target = parse_target(twin.fixture.target) if twin.fixture.target else None
    deployments = read_texts(files, twin.fixture.target)
    ours = [node for deployment in deployments for node in deployment.nodes]
    torn = any(fault.kind == "shell" for deployment in deployments for fault in deployment.faults)
    if torn or any(node.partial or not all(map(_known, node.args)) for node in ours):
        return
    calls = of_files(files)
    if calls is None:
        return
    theirs = [
        node for call in calls for deployment in read(Inputs([], ["vllm", *call], target)) for node in deployment.nodes
    ]
    if sorted(map(_written, ours)) != sorted(map(_written, theirs)):
        yield f"it is read as {sorted(map(_written, ours))} but starts {sorted(map(_written, theirs))}"


def _known(arg: Arg) -> bool:
    return all(value.complete() for value in (arg.value, *arg.more) if value is not None)


def _written(node: NodeLaunch) -> str:
    """Return an engine's model and arguments as a text to compare."""
    words = [(arg.name, *[value.plain() for value in (arg.value, *arg.more) if value is not None]) for arg in node.args]
    return repr((node.model.plain() if node.model else None, sorted(map(repr, words))))
