"""Here-documents of YAML as files: at their place in the script, so that what they say is found there."""

from __future__ import annotations

from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.values import HOLE, SourceFile, Text

_VARIABLE = lazy_pattern(r"\$\{[^}\n]{0,500}\}|\$\w+")
_NO_LINE_END = lazy_pattern(r"[^\n]")


def raw_of(body: Text) -> str:
    """Return a here-document as it is written."""
    return body.source.text[body.spots[0] : body.spots[-1]]


def is_verbatim(body: Text) -> bool:
    """Whether it says what is written, but for the ends of lines."""
    return raw_of(body).replace("\r\n", "\n") == body.value


def as_document(body: Text) -> SourceFile:
    """Return its script with nothing else in it; each variable of the shell is a hole."""
    before = _NO_LINE_END.sub(" ", body.source.text[: body.spots[0]])
    return SourceFile(body.source.path, before + _VARIABLE.sub(lambda match: HOLE * len(match.group()), raw_of(body)))


def as_file(body: Text) -> SourceFile | None:
    """Return the file that a script writes; None where more than variables makes its text."""
    return as_document(body) if is_verbatim(body) or _VARIABLE.search(raw_of(body)) else None
