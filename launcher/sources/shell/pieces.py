"""Pieces of words: what one expansion or quoted part stands for, and how pieces are put together to words."""

from __future__ import annotations

import re
from functools import cache

from pd_launch.launcher.sources.text.weave import concat
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import SourceFile, Text


@dataclass
class Piece:
    """What a part of a word stands for; ``quoted`` keeps its blanks."""

    text: Text
    quoted: bool
    words: list[Text] | None = None
    """The words of ``"${ARRAY[@]}"``, which stay apart although quoted."""


BLANKS = " \t\n"
"""Where words are split unless a script sets ``IFS``."""


def join_pieces(pieces: list[Piece], source: SourceFile, start: int, between: str = BLANKS) -> list[Text]:
    """Put pieces together to words: unquoted ones are split at the signs of ``IFS``, arrays at their elements."""
    words: list[list[Text]] = []
    current: list[Text] | None = None
    for piece in pieces:
        if piece.words is not None:
            for index, word in enumerate(piece.words):
                if index and current is not None:
                    words.append(current)
                    current = None
                current = _with(current, word)
            continue
        if piece.quoted:
            current = _with(current, piece.text)
            continue
        value = piece.text.value
        for match in _pattern(between).finditer(value):
            if match["apart"] is not None:
                if current is not None or match["apart"].strip(BLANKS):  # two commas hold an empty word
                    words.append(current or [piece.text.part(match.start(), match.start())])
                current = None
            else:
                current = _with(current, piece.text.part(match.start(), match.end()))
    if current is not None:
        words.append(current)
    return [concat(word, source, start) for word in words]


@cache
def _pattern(between: str) -> re.Pattern[str]:
    """Return what parts words: blanks in any number, other signs one by one with the blanks around them."""
    blanks = "".join(re.escape(sign) for sign in between if sign in BLANKS)
    others = "".join(re.escape(sign) for sign in between if sign not in BLANKS)
    if not between:
        return re.compile(r"(?P<apart>(?!))|(?s:.)+")
    around = f"[{blanks}]{{0,100}}" if blanks else ""
    apart = [f"{around}[{others}]{around}"] if others else []
    apart += [f"[{blanks}]+"] if blanks else []
    return re.compile(f"(?P<apart>{'|'.join(apart)})|[^{blanks}{others}]+")


def _with(parts: list[Text] | None, part: Text) -> list[Text]:
    """Return the parts of a word with one more; a new word begins where there are none."""
    if parts is None:
        return [part]
    parts.append(part)
    return parts
