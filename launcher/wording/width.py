"""What a terminal makes of a text: its width, and characters that it would act on."""

from __future__ import annotations

import unicodedata


def clean(text: str) -> str:
    """Return ``text`` without anything that a terminal would act on: control and format characters become ``�``."""
    if text.isprintable():
        return text
    return "".join(" " if c == "\t" else c if _shown(c) else "�" for c in text)


def shows_all(text: str) -> bool:
    """Whether a terminal shows every character of ``text`` as it is, line breaks and tabs apart, and acts on none."""
    return text.isprintable() or all(c in "\n\t" or _shown(c) for c in text)


def _shown(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def width(text: str) -> int:
    """Return how many columns of a terminal ``text`` takes: two for East Asian wide characters."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
