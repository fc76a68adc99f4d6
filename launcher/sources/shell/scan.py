"""Faults of a shell script's text that change what the shell sees: found by one pass over quotes and line ends."""

from __future__ import annotations

import re

from pd_launch.schemas.core.launch import Fault
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.values import Text

_HEREDOC = lazy_pattern(
    r"""<<(?P<tabs>-?)[ \t]*(?:'(?P<single>[^'\n]{1,200})'|"(?P<double>[^"\n]{1,200})"|"""
    r"""\\?(?P<bare>[^\s'"\\<>|;&()$`]{1,200})(?!['"\\$`]))"""
)
_DIGITS = lazy_pattern(r"\d+")
_BLANK_END = lazy_pattern(r"\\[ \t]+(?=\n|\Z)")
_BLANK_WORD = lazy_pattern(r"(?<=[ \t])\\[ \t]+(?=(\\\n|--[A-Za-z])|#)")
"""A backslash that stands alone inside a line: before another one, before an option, or before a comment."""
_TWO_AT_END = lazy_pattern(r"(?<=[ \t])\\\\[ \t]*(?=\n[ \t]*(?:-|['\"]?\{))")
_ARGUMENTS = lazy_pattern(r"\n[ \t]{0,200}(?:-|['\"]?[{\[])")
"""A line that begins like arguments. With any other one it is not certain that it belongs to the command before it."""
_SMART = {"“": '"', "”": '"', "‘": "'", "’": "'"}
OPEN = "is never closed"
_DASHES = "–—−"


def scan(base: Text) -> list[Fault]:
    """Return faults of kind ``shell``: an unclosed quote, blanks after a continuing backslash, typographic signs."""
    scanner = _Scanner(base)
    scanner.run()
    return scanner.faults


def left_open(base: Text) -> bool:
    """Whether a quote or a here-document goes on to the end of the text: what it swallows is not what it looks like."""
    scanner = _Scanner(base)
    scanner.run()
    return scanner.open


_COMMENT = Msg(
    "a comment after the backslash: the line does not continue, and the comment becomes arguments",
    "反斜杠后面有注释：这一行没有续行，注释成了参数",
)
_MOVE_COMMENT = Msg("move the comment to a line before the command", "把注释移到命令之前的一行")
_BEFORE_BLANK = Msg(
    "this backslash precedes a blank: it continues nothing, and the blank becomes an argument",
    "这个反斜杠后面是空白：它没有续行，空白成了参数的一部分",
)
_NO_BACKSLASH = Msg("remove the backslash", "删掉这个反斜杠")


class _Scanner:
    def __init__(self, base: Text) -> None:
        self.base = base
        self.text = base.value
        self.faults: list[Fault] = []
        self.open = False
        """Whether something that was opened has no end."""
        self.pending: list[tuple[str, bool]] = []

    def run(self) -> None:
        at, size, text = 0, len(self.text), self.text
        word_start = True
        while at < size:
            character = text[at]
            if character == "'":
                at = self.quoted(at, "'")
                word_start = False
                continue
            if character == '"':
                at = self.quoted(at, '"')
                word_start = False
                continue
            if character == "\\":
                at = self.backslash(at)
                continue
            if character == "#" and word_start:
                end = text.find("\n", at)
                at = size if end < 0 else end
                continue
            if character == "$" and text[at + 1 : at + 2] == "'":
                at = self.quoted(at + 1, "'", escapes=True)
                continue
            if character == "<" and (match := _HEREDOC.match(text, at)) and not self.is_shift(at, match):
                self.pending.append((match["single"] or match["double"] or match["bare"], match["tabs"] == "-"))
                at = match.end()
                continue
            if character == "\n" and self.pending:
                at = self.heredoc(at + 1)
                word_start = True
                continue
            if (word_start and character in _SMART) or (word_start and character in _DASHES):
                self.typographic(at)
            word_start = character in " \t\n;&|("
            at += 1

    def is_shift(self, at: int, match: re.Match[str]) -> bool:
        """Whether ``<<`` is no here-document: a here-string, or a shift in arithmetic."""
        if self.text.startswith("<<<", at) or (match["bare"] and _DIGITS.fullmatch(match["bare"])):
            return True
        line = self.text[max(self.text.rfind("\n", 0, at), at - 500) + 1 : at]
        return line.rfind("((") > line.rfind("))")

    def quoted(self, start: int, quote: str, escapes: bool = False) -> int:
        at = start + 1
        while at < len(self.text):
            character = self.text[at]
            if character == quote:
                return at + 1
            at += 2 if character == "\\" and (quote == '"' or escapes) else 1
        self.open = True
        self.fault(
            start,
            start + 1,
            Msg(f"this quote ({quote}) {OPEN}", f"这个引号（{quote}）没有闭合"),
            Msg("close it where the value ends", "在值的结尾加上配对的引号"),
        )
        return len(self.text)

    def backslash(self, at: int) -> int:
        match = _BLANK_END.match(self.text, at)
        if match is None:
            return self.inside_line(at)
        fix = self.base.edit(at + 1, match.end(), "") if _ARGUMENTS.match(self.text, match.end()) else None
        self.faults.append(
            Fault(
                "shell",
                self.base.origin(at, match.end()),
                Msg(
                    "blanks after the backslash: the line does not continue, and a blank argument is passed",
                    "反斜杠后面有空白：这一行没有续行，而且会传入一个空白参数",
                ),
                fix=fix or (),
                fix_is_safe=bool(fix),
                help=Msg("end the line with the backslash itself", "让反斜杠成为行尾的最后一个字符"),
            )
        )
        return match.end()

    def inside_line(self, at: int) -> int:
        twice = _TWO_AT_END.match(self.text, at)
        if twice is not None:
            self.faults.append(
                Fault(
                    "shell",
                    self.base.origin(at, twice.end()),
                    Msg(
                        "two backslashes at the end of the line: it does not continue, and a backslash is passed",
                        "行尾有两个反斜杠：这一行没有续行，而且会传入一个反斜杠",
                    ),
                    fix=self.base.edit(at + 1, twice.end(), "") or (),
                    fix_is_safe=True,
                    help=Msg("end the line with one backslash", "行尾只写一个反斜杠"),
                )
            )
            return twice.end()
        match = _BLANK_WORD.match(self.text, at)
        if match is None:
            return at + 2
        comment = match[1] is None
        self.faults.append(
            Fault(
                "shell",
                self.base.origin(at, match.end()),
                _COMMENT if comment else _BEFORE_BLANK,
                fix=() if comment else self.base.edit(at, match.end(), "") or (),
                fix_is_safe=not comment,
                help=_MOVE_COMMENT if comment else _NO_BACKSLASH,
            )
        )
        return match.end()

    def heredoc(self, at: int) -> int:
        """Step over the bodies of the here-documents that the last line opened."""
        for word, tabs in self.pending:
            while at < len(self.text):
                end = self.text.find("\n", at)
                end = len(self.text) if end < 0 else end
                line = self.text[at:end].rstrip("\r")
                at = min(end + 1, len(self.text))
                if (line.lstrip("\t") if tabs else line) == word:
                    break
            else:
                self.open = True
        self.pending = []
        return at

    def typographic(self, at: int) -> None:
        sign = self.text[at]
        right = _SMART.get(sign, "--" if sign in "–—" else "-")
        self.fault(
            at,
            at + 1,
            Msg(
                f"the typographic sign {sign} is not a quote or dash to the shell",
                f"排版符号 {sign} 对 shell 来说不是引号或横线",
            ),
            Msg(f"write {right}", f"应写 {right}"),
        )

    def fault(self, start: int, end: int, said: Msg, help: Msg) -> None:
        self.faults.append(Fault("shell", self.base.origin(start, end), said, help=help))
