"""Texts broken to the width of a terminal: at blanks, and between wide characters, which need none."""

from __future__ import annotations

from pd_launch.launcher.wording.width import width
from pd_launch.schemas.core.lazy import lazy_pattern

_CLOSING = "，。；：！？、）”"
_WORDS = lazy_pattern(rf"[^\x00-\u1100][{_CLOSING}]*|[\x00-\u1100]+?(?:\s+|[{_CLOSING}]+|(?=[^\x00-\u1100])|$)")
"""A wide character or a word, with the marks or blanks after it, which never begin a line."""


def broken(text: str, columns: int, used: int, indent: int) -> str:
    """Break ``text`` into lines of at most ``columns``.

    Args:
        text: one line.
        columns: of the terminal; a word that is longer than a line is left to the terminal.
        used: columns that are taken on the first line.
        indent: blanks before each further line.
    """
    lines = [""]
    free = columns - used
    for word in _WORDS.findall(text):
        needed = width(word.rstrip())
        if needed > free and lines[-1]:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * indent)
            free = columns - indent
        lines[-1] += word
        free -= width(word)
    return "\n".join(lines)
