"""What is wrong with a text that should be Chinese: English in it, half-width punctuation."""

from __future__ import annotations

import re

HAN = re.compile("[一-鿿]")
FILLED_IN = "□"
"""What stands for a value that is filled in at run time."""
CODE = re.compile(
    r"^```.*?^```|`[^`\n]*`|https?://\S+|\{[^{}]*\}|\S*[\w.]*[/_.=]\S*|--[\w-]+|\b\w*[A-Z\d]\w*\b|\bpd-launch \w+",
    re.MULTILINE | re.DOTALL,
)
"""What is the same in both languages: code, names with a sign, a digit or a capital in them, commands."""
NAMES = {
    "attention backend", "lo", "null", "reasoning parser", "tool call parser",
}  # fmt: skip
"""Words that are written in English in a Chinese text."""


def untranslated(text: str) -> str:
    """Return the English words of a Chinese text without a Chinese character, or a whole English phrase in it."""
    plain = CODE.sub(" ", text)
    words = re.findall(r"[a-z]{2,}", plain)
    if not HAN.search(text):
        return "" if " ".join(words) in NAMES else " ".join(words)
    phrase = re.search(r"\b[a-z]+(?:[ ,]+[a-z]+\b){4,}", plain)
    return phrase[0] if phrase else ""


QUOTED = re.compile(r"^ *```.*?^ *```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
BRACES = re.compile(r"[\[{][^\[\]{}]*[\]}]|\b[a-z]+\([^()]*\)|'[^'\n]*'|\[[\d, ]*\)")
"""JSON, calls in formulas, and what is quoted."""
MARK = re.compile(
    r"[一-鿿)）`A-Za-z0-9□],\s?[A-Za-z`一-鿿□（(]"  # a comma between words, names or values
    r"|[一-鿿)）] ?[,;:?!]|[,;:?!] ?[一-鿿]"  # any mark next to a Chinese character
    r"|(?<!-v )[□`A-Za-z][:;]□|[□`];|[一-鿿].*[□`A-Za-z][?!]"
)


def prose(page: str) -> str:
    """Return a Markdown page without its code, addresses and front matter."""
    page = re.sub(r"\A---.*?^---", "", page, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"https?://\S+|\]\([^)\n]*\)|<[^>\n]*>", "`…`", QUOTED.sub("`…`", page))


def half_width(text: str) -> str:
    """Return the first half-width mark in a Chinese text, with what is next to it; marks in code are left alone."""
    plain = QUOTED.sub("`…`", text)
    while (inner := BRACES.sub("", plain)) != plain:
        plain = inner
    found = MARK.search(plain)
    return plain[max(0, found.start() - 10) : found.end() + 10] if found else ""
