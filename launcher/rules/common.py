"""Edits of the user's own text that several rules need."""

from __future__ import annotations

import re

from pd_launch.launcher.rules.registry import FixEdits, Msg
from pd_launch.schemas.launch import Deployment
from pd_launch.schemas.values import HOLE, Node, Origin, SourceFile

_COMMA_BEHIND = re.compile(r"\s*,[ \t]*")
_COMMA_BEFORE = re.compile(r",\s*$")


def knowable(name: str) -> bool:
    """Whether a key is known in full, with no part that is filled in at run time."""
    return HOLE not in name and "$" not in name and "{" not in name


def written(origin: Origin, deployment: Deployment) -> str | None:
    """Return the characters at ``origin`` as they stand in the user's file; None where that is no input."""
    found = _span(origin, deployment)
    return found[0].text[found[1] : found[2]] if found else None


def renamed(
    origin: Origin, old: str, new: str, deployment: Deployment, safe: bool = False, message: Msg | None = None
) -> FixEdits | None:
    """Return the edit that writes ``new`` for ``old`` at ``origin``; None where ``old`` does not stand there once."""
    text = written(origin, deployment)
    if text is None or text.count(old) != 1:
        return None
    return FixEdits(message or Msg(f"write {new}", f"改写为 {new}"), ((origin, text.replace(old, new)),), safe)


def removed(entry: Node, deployment: Deployment, message: Msg, safe: bool) -> FixEdits | None:
    """Return the edit that takes an entry and one comma out of a JSON object; None where that is not certain."""
    if entry.key is None:
        return None
    key, value = _span(entry.key, deployment), _span(entry.origin, deployment)
    if key is None or value is None or key[0] is not value[0] or key[1] >= value[1]:
        return None
    source, start, end = key[0], key[1], value[2]
    if not source.text.startswith('"', start):
        return None
    behind = _COMMA_BEHIND.match(source.text, end)
    if behind:
        end = behind.end()
    else:
        before = _COMMA_BEFORE.search(source.text[:start])
        start = before.start() if before else start
    return FixEdits(message, ((source.origin(start, end), ""),), safe)


def _span(origin: Origin, deployment: Deployment) -> tuple[SourceFile, int, int] | None:
    source = deployment.sources.get(origin.file)
    if source is None or origin.via:
        return None
    start = source.offset(origin.line, origin.column)
    end = source.offset(origin.end_line, origin.end_column)
    return source, start, end
