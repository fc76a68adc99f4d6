"""Jupyter notebooks: lines that begin with ``!``, cells of a shell, and Python. What cells printed is no input.

IPython puts the values of Python's names into such lines, ``{name}`` as well as ``$name``; they are not known here.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from pd_launch.launcher.sources.engine.found import Found, Nested, keep
from pd_launch.launcher.sources.engine.unfollowed import not_started
from pd_launch.launcher.sources.forms.relocate import read_inside
from pd_launch.launcher.sources.python.file import read_python
from pd_launch.launcher.sources.text.weave import Weaver, concat
from pd_launch.launcher.sources.trees.json_tree import parse_json
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, Node, SourceFile, Text

_SHELL_CELL = lazy_pattern(
    r"\s{0,40}%%(?:bash|sh|(?:script|script[ \t][^\n]{0,80}?)[ \t]{1,40}(?:/\S{0,60}/)?(?:bash|sh))\b[^\n]*\n?"
)
_WRITTEN = lazy_pattern(r"\s{0,40}%%(?:writefile|file)[ \t]{1,40}(?:-a[ \t]{1,40})?\S{1,200}\.(?:sh|bash)[ \t]{0,40}\n")
"""A cell that writes a script, for another one to run."""
_PROGRAM_CELL = lazy_pattern(r"\s{0,40}%%(?:script[ \t]{1,20}\S{0,60})?(?:perl|ruby|node|js|javascript|pypy3?)\b")
"""A cell of a language that is not followed."""
_OTHER_CELL = lazy_pattern(r"\s{0,40}%%(?!time|capture)")
_MAGIC_LINE = lazy_pattern(r"\s{0,40}%%(?:time|capture|python3?)\b[^\n]*\n")
_BANG = lazy_pattern(r"[ \t]{0,40}(?:[\w, .\[\]]{1,80}=[ \t]{0,40})?(?:!{1,2}|%(?:sx|system)[ \t])")
_NAME = lazy_pattern(r"(?<!\$)\{[ \t]{0,40}[A-Za-z_][\w.\[\]]{0,80}[ \t]{0,40}\}")
_BUILDS = lazy_pattern(r"\b(?:LLM|AsyncEngineArgs|EngineArgs|LLMConfig|KVTransferConfig)\(|vllm", re.IGNORECASE)
_NO_PYTHON = lazy_pattern(rf"{_BANG.pattern}|[ \t]{{0,40}}(?:%|\?|[\w.]{{1,80}}\?{{1,2}}[ \t]{{0,40}}$)")
"""A line that IPython itself understands, and Python does not."""
MAX_CELLS = 5000


def recognise(source: SourceFile) -> bool:
    """Whether a file is a notebook."""
    head = source.text.lstrip("\ufeff \t\r\n")[:1]
    return head == "{" and '"cells"' in source.text and '"nbformat"' in source.text


def read(given: SourceFile, source: SourceFile, found: Found) -> None:
    """Add the scripts of a notebook's cells to ``found``."""
    tree, faults = parse_json(Text.verbatim(source, 0, len(source.text)))
    if not isinstance(tree.value, dict):
        found.add_faults(faults)
        return
    pieces: list[Text] = []
    programs: list[Text] = []
    cells = tree.get("cells")
    for number, cell in enumerate(cells.elements() if cells is not None else ()):
        kind, body = cell.get("cell_type"), _source(cell, source)
        if kind is None or kind.value != "code" or body is None or number >= MAX_CELLS:
            continue
        pieces += _scripts(body)
        if _PROGRAM_CELL.match(body.value):
            found.add_faults(list(not_started(body)))
        code = _python(body)
        programs += [code] if code is not None and _parses(code.value) else []
    if pieces:
        found.nested.append(Nested(concat([*_parted(pieces)], source, pieces[0].spots[0]), keep))
    if any(_BUILDS.search(code.value) for code in programs):
        read_inside(concat([*_parted(programs)], source, programs[0].spots[0]), found, read_python)


def _source(cell: Node, source: SourceFile) -> Text | None:
    """Return a cell's text: one string, or a list of lines."""
    written = cell.get("source")
    if written is None:
        return None
    if written.text is not None:
        return written.text
    lines = [line.text for line in written.elements() if line.text is not None]
    return concat(lines, source, lines[0].spots[0]) if lines else None


def _scripts(body: Text) -> Iterator[Text]:
    """Iterate over what a cell gives to a shell."""
    shell = _SHELL_CELL.match(body.value) or _WRITTEN.match(body.value)
    if shell is not None:
        yield body.part(shell.end(), len(body.value))
        return
    if _OTHER_CELL.match(body.value):
        return
    at = 0
    while at < len(body.value):
        end = _end(body.value, at)
        bang = _BANG.match(body.value, at, end)
        if bang is not None:
            yield _filled(body.part(bang.end(), end))
        at = end + 1


def _end(text: str, at: int) -> int:
    """Return the end of the line at ``at``, with the lines that it goes on in."""
    while True:
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        if not text[at:end].rstrip(" \t\r").endswith("\\"):
            return end
        at = end + 1


def _filled(line: Text) -> Text:
    """Return a line with the values of Python's names as holes."""
    weaver, at = Weaver(line), 0
    for match in _NAME.finditer(line.value):
        weaver.take(at, match.start(), None)
        weaver.fill(HOLE, match.start())
        at = match.end()
    weaver.take(at, len(line.value), None)
    return weaver.text(len(line.value)) if at else line


def _parted(pieces: list[Text]) -> Iterator[Text]:
    for piece in pieces:
        yield piece
        if not piece.value.endswith("\n"):
            yield piece.stand_in("\n")


def _python(body: Text) -> Text | None:
    """Return a cell's Python, with the lines that IPython gives to others passed over; else None."""
    magic = _MAGIC_LINE.match(body.value)
    if magic is None and body.value.lstrip().startswith("%%"):
        return None
    weaver, at = Weaver(body), 0
    while at < len(body.value):
        end = _end(body.value, at)
        if _NO_PYTHON.match(body.value, at, end):
            indent = len(body.value[at:end]) - len(body.value[at:end].lstrip())
            weaver.take(at, at + indent, None)
            weaver.fill("pass", at)
        else:
            weaver.take(at, end, None)
        if end < len(body.value):
            weaver.take(end, end + 1, None)
        at = end + 1
    return weaver.text(len(body.value))


def _parses(code: str) -> bool:
    """Whether a cell is Python: notebooks have cells of other languages, and of what IPython alone understands."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
