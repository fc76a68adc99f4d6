"""Where secrets stand in a text, by the names before them: read or not, since a file that is broken is shown too.

Every pattern begins at a word's first character and has bounds, so that a search costs no more than the text is long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pd_launch.launcher.secrets.names import is_secret, is_secret_flag

Span = tuple[int, int]
_VALUE = (
    r"""(?:[\[(]\s{0,20})?(?:[fFrRbB]{1,2}(?=["']))?"""
    r"""(?:\\?"(?P<double>[^"\n]*)|\\?'(?P<single>[^'\n]*)|(?P<bare>[^\s"',;}\])\\]+))"""
)
_NAME = r"[\w.-]{0,80}?(?:key|token|secret|pass|pwd|credential|authorization)\w{0,40}"
_SPACE = r"""(?:\s{0,40}(?=[fFrRbB]{0,2}\\?["'\[(])|[ \t]{0,40})"""
"""Between a sign and its value: without quotes, what begins the next line is none."""
_ASSIGNED = re.compile(
    rf"""(?<![\w.$-])(?P<name>-{{0,2}}{_NAME})\\?["']?\s{{0,40}}[=:]{_SPACE}{_VALUE}""", re.IGNORECASE
)
_QUOTED = re.compile(rf"""(?<![\w.$-])(?P<name>{_NAME})\\?["']\s{{0,40}},\s{{0,40}}{_VALUE}""", re.IGNORECASE)
"""Two texts that follow each other in a list, as in Python: a name and its value."""
_FLAG = re.compile(
    r"""(?<![\w-])--(?P<name>[A-Za-z][\w.-]{0,80})"""
    r"""(?:=|\\?["']?(?:\s{0,40},\s{0,40}|\n[ \t]{0,80}-[ \t]{1,9}|(?:[ \t]|\\\n){1,80}))""" + _VALUE
)
_WORD = r"""["']?(?P<name>[A-Za-z_][\w.-]{0,80})["']?"""
_BETWEEN = r"[ \t]{0,40}(?:,\s{0,40}|(?:#[^\n]{0,200})?\n[ \t]{0,80})"
_IS = r"""["']?:[ \t]{1,40}"""
_NAMED = re.compile(rf"""(?<![\w.$-])["']?(?:name|key){_IS}{_WORD}{_BETWEEN}["']?value{_IS}{_VALUE}""")
"""An entry of a list of variables, as in Kubernetes, in either style and either order."""
_BEFORE_NAME = re.compile(rf"""(?<![\w.$-])["']?value{_IS}{_VALUE}["']?{_BETWEEN}["']?name{_IS}{_WORD}""")
_LOGIN = re.compile(
    r"""(?<=://)(?:[^\s/@:"'<>]{0,200}:(?P<bare>[^\s/@"'<>]{1,500})|(?P<single>(?=[A-Za-z_]{0,16}\d)\w{16,200}))@"""
)
"""A password behind the user's name in an address, or a token in place of both."""
_BEARER = re.compile(
    r"(?<![\w-])(?:Bearer|Basic)[ \t]{1,9}(?P<bare>(?=[\w.~+/=-]{0,500}\d)[\w.~+/=-]{8,2000})", re.IGNORECASE
)
_SCHEMES = ("bearer", "basic", "token")
_REFERENCES = ("$", "{{", "<", "***")


def written_spans(text: str) -> list[Span]:
    """Return where a secret's value stands in ``text``, in order; what only refers to one is none."""
    found = {span for span in _spans(text) if _is_value(text[span[0] : span[1]])}
    return sorted(found)


def has_login(text: str) -> bool:
    """Whether a text holds a secret that no name tells: a password in an address, a token behind its scheme."""
    return _LOGIN.search(text) is not None or _BEARER.search(text) is not None


def _spans(text: str) -> Iterator[Span]:
    for pattern in (_ASSIGNED, _QUOTED):
        for match in pattern.finditer(text):
            if _tells(match["name"]):
                yield _behind_scheme(text, _span(match))
    for match in _FLAG.finditer(text):
        if is_secret_flag(match["name"]) and not text[match.start("name") :].startswith("-"):
            start, end = _span(match)
            if not text.startswith("-", start):
                yield start, end
    for pattern in (_NAMED, _BEFORE_NAME):
        yield from (_span(match) for match in pattern.finditer(text) if is_secret(match["name"]))
    for pattern in (_LOGIN, _BEARER):
        yield from (_span(match) for match in pattern.finditer(text))


def _span(match: re.Match[str]) -> Span:
    groups = match.groupdict()
    return next(match.span(kind) for kind in ("double", "single", "bare") if groups.get(kind) is not None)


def _tells(name: str) -> bool:
    """Whether a name in any text tells a secret: ``key`` and ``token`` alone are words of many a language."""
    plain = name.lstrip("-")
    if name.startswith("--") or "-" in plain:
        return is_secret_flag(plain)
    return is_secret(plain) and (plain.lower() not in ("key", "token", "pass") or plain.isupper())


def _behind_scheme(text: str, span: Span) -> Span:
    """Leave out the scheme before a token, as in ``Authorization: Bearer X``."""
    start, end = span
    scheme = text[start:end].lower()
    if scheme in _SCHEMES:
        behind = re.compile(r"[ \t]{1,9}([^\s\"',;}\])]+)").match(text, end)
        return behind.span(1) if behind else span
    head, blank, _ = text[start:end].partition(" ")
    return (start + len(head) + 1, end) if blank and head.lower() in _SCHEMES else span


def _is_value(value: str) -> bool:
    return any(c.isalnum() for c in value) and not value.startswith(_REFERENCES)
