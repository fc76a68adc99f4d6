"""Where secrets are in a text, by the names before them: read or not, since a file that is broken is shown too.

Every pattern begins at a word's first character and has bounds, so that a search costs no more than the text is long.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from functools import cache

from pd_launch.launcher.secrets.encoded import encoded_spans
from pd_launch.launcher.secrets.names import is_secret, is_secret_flag
from pd_launch.launcher.secrets.values import Span, Value, Values
from pd_launch.schemas.core.flag_shapes import LISTS
from pd_launch.schemas.core.lazy import lazy_pattern

__all__ = ["Span", "written_spans"]

_NAME = r"[\w.-]{0,80}?(?:key|token|secret|pass|pwd|credential|authorization)\w{0,40}"
_SPACE = r"""(?P<space>\s{0,40}(?=[fFrRbB]{0,2}\\{0,15}["'\[(])|[ \t]{0,40})"""
"""Between a sign and its value: without quotes, what begins the next line is none."""
_ASSIGNED = lazy_pattern(
    rf"""(?<![\w.$-])(?P<name>-{{0,2}}{_NAME})(?P<quote>\\{{0,15}}["'])?\]?(?P<before>\s{{0,40}})"""
    rf"""(?P<sign>\+=|:[=+-]|[=:](?![=:])){_SPACE}""",
    re.IGNORECASE,
)
_DEFAULT = lazy_pattern(rf"\$\{{(?P<name>{_NAME})[-=+]", re.IGNORECASE)
_QUOTED = lazy_pattern(
    rf"""(?<![\w.$-])(?P<name>{_NAME})\\{{0,15}}["']\s{{0,40}},\s{{0,40}}(?=[fFrRbB]{{0,2}}\\{{0,15}}["']|[^\s])""",
    re.IGNORECASE,
)
"""Two texts that follow each other in a list, as in Python: a name and its value."""
_BEHIND = r"""\\{0,15}["']?(?:\s{0,40},\s{0,40}|\n[ \t]{0,80}-[ \t]{1,9}|(?:[ \t]|\\\n){1,80})"""
_FLAG = lazy_pattern(rf"""(?<![\w-])--(?P<name>[A-Za-z][\w.-]{{0,80}})(?P<sign>=|{_BEHIND})""")
_NEXT = lazy_pattern(_BEHIND)
_NO_VALUE = lazy_pattern(r"""\\{0,15}["']?-|[#&|;\[\](){}<>]|\Z""")
_READ = lazy_pattern(r"(?<![\w-])(?:read|mapfile|readarray)[ \t](?P<names>[^\n;|&<]{0,200})<<<[ \t]{0,9}")
_SET = lazy_pattern(
    rf"(?<![\w.-])(?:printf[ \t]{{1,9}}-v|setenv|ENV|ARG)[ \t]{{1,9}}(?P<name>{_NAME})[ \t]{{1,9}}", re.I
)
"""Commands that give a variable the words after its name."""
_ITEM = lazy_pattern(r"[ \t]{0,40}(?:#[^\n]{0,200})?\n[ \t]{0,80}-[ \t]{1,9}(?![\w-]{1,80}:\s)")
_WORD = r"""["']?(?P<name>[A-Za-z_][\w.-]{0,80})["']?"""
_BETWEEN = r"[ \t]{0,40}(?:,\s{0,40}|(?:#[^\n]{0,200})?\n[ \t]{0,80})"
_IS = r"""["']?:[ \t]{1,40}"""
_NAMED = lazy_pattern(rf"""(?<![\w.$-])["']?(?:name|key){_IS}{_WORD}{_BETWEEN}["']?value{_IS}""")
"""An entry of a list of variables, as in Kubernetes, in either style and either order."""
_BEFORE_NAME = lazy_pattern(
    rf"""(?<![\w.$-])["']?value{_IS}(?:"(?P<double>[^"\n]*)|'(?P<single>[^'\n]*)|(?P<bare>[^\s"',;}}\])\\]+))"""
    rf"""["']?{_BETWEEN}["']?name{_IS}{_WORD}"""
)
_LOGIN = lazy_pattern(
    r"""(?<=://)(?:[^\s/:"'<>]{0,200}:(?P<bare>[^\s/"'<>]{1,500})"""
    r"""|(?P<single>(?=[^\s/@]{0,200}\d|[^\s/@]{0,200}[a-z][A-Z])[\w.~%+=-]{16,200}))@"""
)
"""A password after the user's name in an address, or a token in place of both."""
_BEARER = lazy_pattern(
    r"(?<![\w-])(?:Bearer|Basic)[ \t]{1,9}(?P<bare>(?=[\w.~+/=-]{0,500}\d)[\w.~+/=-]{8,2000})", re.IGNORECASE
)
_SHORT = lazy_pattern(
    r"(?<![\w./-])(?:sshpass|mysql(?:dump|admin|import)?|mariadb(?:-dump|-admin)?)(?=[ \t])[^\n;|&]{0,200}?"
    r"[ \t]-p[ \t]{0,9}(?=[^\s-])"
)
_LOGS_IN = lazy_pattern(
    r"(?<![\w./-])(?:(?:docker|podman|nerdctl|helm|oras|skopeo|crane|buildah|az)(?=[ \t])[^\n;|&]{0,100}?[ \t]login"
    r"|redis-cli|ldapsearch)(?=[ \t])[^\n;|&]{0,200}?[ \t](?:-p|-a|-w)[ \t]{1,9}(?=[^\s-])"
)
"""Programs whose short option takes a password."""
_USER = lazy_pattern(
    r"""(?<![\w./-])(?:curl|wget|http|https)(?=[ \t])[^\n;|&]{0,300}?[ \t](?:-u|-U|--user|--proxy-user|-a)[ =]{0,9}"""
    r"""["']?[^\s:"'/]{1,100}:(?P<bare>[^\s"'/][^\s"']{0,500})"""
)
"""A password after the user's name, as curl takes both."""
_SIGNED = lazy_pattern(
    r"""(?<=[?&;])(?:[\w.-]{0,40}signature|sig|sign|hmac|auth|auth[_-]key)="""
    r"""(?P<bare>(?=[^\s&;"'<>#]{0,400}\d)[^\s&;"'<>#]{1,2000})""",
    re.IGNORECASE,
)
"""What lets anybody in who has the address."""
_SCHEMES = ("bearer", "basic", "token")
_WORDS = ("key", "token", "pass")
"""Names that are also words of many a language."""
_RANDOM = lazy_pattern(r"""\\{0,15}["']?(?=[A-Za-z_]{0,200}\d)(?=\d{0,200}[A-Za-z_])\w{8,500}(?![\w./:-])""")
_NUMBER = lazy_pattern(r"\d{1,20}(?![\w.])")
_TEXT = lazy_pattern(r"""[\[(]?(?:\$|[fFrRbB]{1,2})?\\{0,15}["']""")
_ANY_NAME = lazy_pattern(r"(?<![\w.$-])(?P<name>[A-Za-z_]\w{0,80})(?:\+?=|[ \t]=[ \t]{1,9})(?=[^\s=])")
_ROUNDS = 8
"""Variables that are given on from one to the next."""


def written_spans(text: str) -> list[Span]:
    """Return where a secret's value is in ``text``, in order; what only refers to one is none."""
    spans: list[Span] = []
    for start, end in sorted({*_plain_spans(text), *encoded_spans(text, _plain_spans)}):
        if spans and start < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans


def _plain_spans(text: str) -> list[Span]:
    """Return the same of what is not encoded."""
    values = Values(text)
    found = {span for span in _spans(values) if _is_value(text[span[0] : span[1]])}
    return sorted(found | _given_on(values))


def _spans(values: Values) -> Iterator[Span]:
    for find in (_assigned, _listed, _flags, _commands, _entries):
        yield from find(values)
    for pattern in (_LOGIN, _BEARER, _USER, _SIGNED):
        for match in pattern.finditer(values.text):
            yield from values.parts(*_span(match))


def _assigned(values: Values) -> Iterator[Span]:
    resume = 0
    for match in _ASSIGNED.finditer(values.text):
        if match.start() < resume or not _tells(match["name"]):
            continue
        if _is_lower_word(match["name"]) and not _is_meant(match, values.text):
            continue
        if match["sign"] == ":" and values.text.startswith(_system_messages(), match.end()):
            continue  # /etc/passwd: No such file or directory
        tight = "=" in match["sign"] and not match["before"] and not match["space"] and not match["quote"]
        value = values.read(match.end(), tight)
        yield from _behind_scheme(values, value)
        resume = value.resume
        if match["sign"] == ":" and value.end == match.end() and not _is_word(match["name"]):
            yield from _more(values, value, _ITEM)
    for match in _DEFAULT.finditer(values.text):
        if _tells(match["name"]):
            end = values.text.find("}", match.end(), match.end() + 500)
            yield from values.parts(match.end(), end) if end >= 0 else ()


@cache
def _system_messages() -> tuple[str, ...]:
    """Return what the system says of a file after its name: sentences, and nobody's secret."""
    return tuple(message for message in {os.strerror(code) for code in errno.errorcode} if " " in message)


def _is_meant(match: re.Match[str], text: str) -> bool:
    """Whether a name that is also an ordinary word names a secret here."""
    name, at = match["name"].lower(), match.end()
    quoted = _TEXT.match(text, at) is not None
    if name == "token" and _NUMBER.match(text, at):
        return False
    if "=" not in match["sign"]:
        return _RANDOM.match(text, at) is not None or (quoted and name != "key" and bool(match["quote"]))
    in_call = text[max(match.start() - 2, 0) : match.start()].rstrip().endswith(("(", ","))
    return quoted or not (match["before"] or match["space"] or in_call)


def _listed(values: Values) -> Iterator[Span]:
    resume = 0
    for match in _QUOTED.finditer(values.text):
        if match.start() >= resume and _tells(match["name"]) and not _is_lower_word(match["name"]):
            value = values.read(match.end(), False)
            yield from _behind_scheme(values, value)
            resume = value.resume


def _flags(values: Values) -> Iterator[Span]:
    text, resume = values.text, 0
    for match in _FLAG.finditer(text):
        if match.start() < resume or not is_secret_flag(match["name"]) or text.startswith("-", match.end()):
            continue
        blank = match["sign"].isspace() or match["sign"][0] in "=\\"
        value = values.read(match.end(), blank)
        yield from value.spans
        resume = value.resume
        if match["sign"] != "=" and _takes_several(match["name"]):
            yield from _more(values, value, _NEXT, blank)


def _takes_several(flag: str) -> bool:
    return flag.endswith("s") or flag.replace("_", "-") in LISTS


def _more(values: Values, value: Value, between: re.Pattern[str], tight: bool = False) -> Iterator[Span]:
    """Iterate over the further values of a list without brackets."""
    while behind := between.match(values.text, value.end):
        if _NO_VALUE.match(values.text, behind.end()):
            return
        value = values.word(behind.end(), tight)
        if value.end <= behind.end():
            return
        yield from value.spans


def _commands(values: Values) -> Iterator[Span]:
    for match in _READ.finditer(values.text):
        if any(_tells(name) for name in match["names"].split()):
            yield from values.word(match.end(), True).spans
    for match in _SET.finditer(values.text):
        if _tells(match["name"]):
            value = values.word(match.end(), True)
            yield from value.spans
            yield from _more(values, value, _NEXT, True)
    for pattern in (_SHORT, _LOGS_IN):
        for match in pattern.finditer(values.text):
            yield from values.word(match.end(), True).spans


def _entries(values: Values) -> Iterator[Span]:
    for match in _NAMED.finditer(values.text):
        if is_secret(match["name"]):
            yield from values.read(match.end(), False).spans
    for match in _BEFORE_NAME.finditer(values.text):
        if is_secret(match["name"]):
            yield from values.parts(*_span(match))


def _given_on(values: Values) -> set[Span]:
    """Return the values of variables that become a secret's, where they are."""
    found: set[Span] = set()
    done: set[str] = set()
    for _ in range(_ROUNDS):
        wanted, resume = values.used - done, 0
        if not wanted:
            break
        done |= wanted
        for match in _ANY_NAME.finditer(values.text):
            if match["name"] in wanted and match.start() >= resume:
                value = values.read(match.end(), True)
                found.update(value.spans)
                resume = value.resume
    return {span for span in found if _is_value(values.text[span[0] : span[1]])}


def _span(match: re.Match[str]) -> Span:
    groups = match.groupdict()
    return next(match.span(kind) for kind in ("double", "single", "bare") if groups.get(kind) is not None)


def _tells(name: str) -> bool:
    """Whether a name in any text tells a secret."""
    plain = name.lstrip("-")
    if name.startswith("--") or "-" in plain:
        return is_secret_flag(plain)
    return is_secret(plain)


def _is_word(name: str) -> bool:
    return name.lower() in _WORDS


def _is_lower_word(name: str) -> bool:
    return _is_word(name) and not name.isupper()


def _behind_scheme(values: Values, value: Value) -> Iterator[Span]:
    """Leave out the scheme before a token, as in ``Authorization: Bearer X``."""
    for start, end in value.spans[:1]:
        scheme = values.text[start:end].lower()
        head, blank, _ = values.text[start:end].partition(" ")
        if scheme in _SCHEMES:
            behind = re.compile(r"[ \t]{1,9}([^\s\"',;}\])]{1,4000})").match(values.text, end)
            yield from values.parts(*behind.span(1)) if behind else [(start, end)]
        elif blank and head.lower() in _SCHEMES:
            yield from values.parts(start + len(head) + 1, end)
        else:
            yield start, end
    yield from value.spans[1:]


def _is_value(value: str) -> bool:
    return any(c.isalnum() for c in value) and value != "VALUE"  # as in KEY=VALUE, of how to write something
