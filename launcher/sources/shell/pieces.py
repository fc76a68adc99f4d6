"""Pieces of words: what one expansion or quoted part stands for, and how pieces are put together to words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pd_launch.launcher.sources.text.weave import concat
from pd_launch.schemas.core.values import SourceFile, Text


@dataclass
class Piece:
    """What a part of a word stands for; ``quoted`` keeps its blanks."""

    text: Text
    quoted: bool
    words: list[Text] | None = None
    """The words of ``"${ARRAY[@]}"``, which stay apart although quoted."""


def join_pieces(pieces: list[Piece], source: SourceFile, start: int) -> list[Text]:
    """Put pieces together to words: unquoted ones are split at blanks, arrays at their elements."""
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
        for match in re.finditer(r"[ \t\n]+|[^ \t\n]+", value):
            if match.group()[0] in " \t\n":
                if current is not None:
                    words.append(current)
                    current = None
            else:
                current = _with(current, piece.text.part(match.start(), match.end()))
    if current is not None:
        words.append(current)
    return [concat(word, source, start) for word in words]


def _with(parts: list[Text] | None, part: Text) -> list[Text]:
    """Return the parts of a word with one more; a new word begins where there are none."""
    if parts is None:
        return [part]
    parts.append(part)
    return parts
