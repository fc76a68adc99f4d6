"""Texts for users, in English and in Chinese beside each other: a pair in the code is complete in both."""

from __future__ import annotations

import re
from typing import NamedTuple

from pd_launch.schemas.core.chinese import typeset
from pd_launch.schemas.core.lazy import lazy_pattern

MOST_QUOTED = 200
"""Characters of one value, name or word of an input that a message repeats."""
MOST = 4_000
"""Characters of a message."""
_LONG = lazy_pattern(
    rf"""(?<!\w)'[^'\n]{{{MOST_QUOTED},}}'|(?<!\w)"[^"\n]{{{MOST_QUOTED},}}"|[!-~]{{{MOST_QUOTED + 1},}}"""
)
_WORD_ENDS = lazy_pattern(r"[\w.+/=-]{1,40}\Z")


class Msg(NamedTuple):
    """A text for users in both languages."""

    en: str
    zh: str

    def __bool__(self) -> bool:
        """Whether anything is said."""
        return bool(self.en)

    def text(self, lang: str) -> str:
        """Return the text in ``lang`` (``en`` or ``zh``)."""
        return typeset(self.zh) if lang == "zh" else self.en


def shortened(text: str) -> str:
    """Return a message with the beginnings alone of what is long in it: an input may hold a word of a megabyte.

    What is cut ends with an ellipsis, and not in the middle of a short word: that might be the beginning of a secret.
    """
    if len(text) <= MOST_QUOTED:
        return text
    text = _LONG.sub(_beginning, text)
    return text if len(text) <= MOST else f"{_cut(text[:MOST])}…"


def _beginning(match: re.Match[str]) -> str:
    long = match[0]
    quote = long[0] if long[0] == long[-1] and long[0] in "'\"" else ""
    return f"{_cut(long[:MOST_QUOTED])}…{quote}"


def _cut(text: str) -> str:
    end = _WORD_ENDS.search(text, max(0, len(text) - 40))
    return text[: end.start()] if end is not None and end.start() > len(text) - 40 else text


NOTHING = Msg("", "")
