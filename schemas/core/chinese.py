"""Chinese text as Chinese readers expect it: full-width punctuation, however it was typed.

Messages are typed with full-width punctuation, rule pages with ASCII. ASCII punctuation next to a Chinese character
becomes full-width when it is shown, as where a value is filled in; code, in backticks or in fences, stays as it is.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pd_launch.schemas.core.lazy import lazy_pattern

_CODE = lazy_pattern(r"(^```.*?^```$|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
_HAN = "[\u3001-\u303f\u4e00-\u9fff“”（）]"
_MARKS = {",": "，", ";": "；", ":": "：", "?": "？", "!": "！"}
_AFTER_HAN = rf"(?<={_HAN})([,;:?!])(?!//) ?"
_BEFORE_HAN = rf"(?<=[^\s,;:?!])([,;:]) ?(?={_HAN})"
_BESIDE_CODE = rf"(?<=[\0）])([,;:])(?=\s*(?:{_HAN}|\0)) ?"
_BLANK = r"(?<=[，；：！？。、]) +(?=\S)|(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])"
_PARENTHESES = r"(.?)\(([^()\n]*)\)"
"""Compiled where they are first used: a report in English needs none of them."""


@lru_cache(maxsize=2048)
def typeset(text: str) -> str:
    """Return ``text`` with full-width punctuation around Chinese words; text without any is returned as it is."""
    if not re.search(_HAN, text):
        return text
    parts = _CODE.split(text)
    # A mark next to code is next to whatever is there: a sign takes the place of code while marks are set.
    hidden = parts[1::2]
    joined = "\0".join(parts[::2])
    shown = _marks(joined)
    pieces = shown.split("\0")
    return "".join(piece + (hidden[index] if index < len(hidden) else "") for index, piece in enumerate(pieces))


def _marks(text: str) -> str:
    text = re.sub(_PARENTHESES, _parentheses, text)
    for marks in (_AFTER_HAN, _BEFORE_HAN, _BESIDE_CODE):
        text = re.sub(marks, lambda match: _MARKS[match[1]], text)
    return re.sub(_BLANK, "", text)  # what a line's end in the source has left


def _parentheses(match: re.Match[str]) -> str:
    before, inside = match[1], match[2]
    if re.search(_HAN, inside) or re.match(_HAN, before):
        return f"{before}（{inside}）"
    return match[0]
