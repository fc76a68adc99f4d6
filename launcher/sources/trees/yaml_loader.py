"""The reader of YAML: libyaml's where it is there, else PyYAML's own, which takes tabs as libyaml does.

Both take the same files and say the same of a wrong one, so that what is found does not depend on how PyYAML was built;
in a browser there is only its own reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

import yaml
from yaml.reader import Reader

_BREAKS = "\r\n\x85\u2028\u2029"
_ENDS = f"\0 \t{_BREAKS}"
_LONGEST_AGAIN = 65_536
"""Characters of a wrong file that PyYAML's own reader, which is slow, reads once more for its words."""
_DEEPEST_AGAIN = 100
"""Brackets within each other beyond which it does not: each of its tokens looks at all that are open."""
_PLAIN = "while scanning a plain scalar"
_TAB = "found a tab character that violates indentation"


class TabLoader(yaml.SafeLoader):
    """PyYAML's own reader, with tabs between words where YAML has them: it refuses them everywhere."""

    def scan_to_next_token(self) -> None:
        """Skip blanks, breaks and comments. A tab is no blank where a key could begin: it would be indentation."""
        super().scan_to_next_token()
        while self.peek() == "\t" and (self.flow_level or not self.allow_simple_key):
            self.forward()
            super().scan_to_next_token()

    def scan_block_scalar_indicators(self, start_mark: Any) -> Any:
        """Return what follows ``|`` or ``>``."""
        return self._with_tabs_as_blanks(super().scan_block_scalar_indicators, start_mark)

    def scan_block_scalar_ignored_line(self, start_mark: Any) -> Any:
        """Skip the rest of the line of ``|`` or ``>``."""
        return self._with_tabs_as_blanks(super().scan_block_scalar_ignored_line, start_mark)

    def scan_tag(self) -> Any:
        """Return a tag, which a tab may end."""
        return self._with_tabs_as_blanks(super().scan_tag)

    def _with_tabs_as_blanks(self, scan: Callable[..., Any], *given: Any) -> Any:
        peek = super().peek
        self.__dict__["peek"] = lambda index=0: " " if peek(index) == "\t" else peek(index)
        try:
            return scan(*given)
        finally:
            del self.__dict__["peek"]

    def scan_plain_spaces(self, indent: int, start_mark: Any) -> list[str] | None:
        """Return what the blanks and breaks inside a scalar without quotes are worth, None at a document's end."""
        length = 0
        while self.peek(length) in " \t":
            length += 1
        blanks = self.prefix(length)
        self.forward(length)
        if self.peek() not in _BREAKS:
            return [blanks] if blanks else []
        first: str = self.scan_line_break()  # type: ignore[no-untyped-call]
        self.allow_simple_key = True
        breaks: list[str] = []
        while not self._at_document():
            sign = self.peek()
            if sign == "\t" and self.column < indent:
                raise yaml.scanner.ScannerError(_PLAIN, start_mark, _TAB, self.get_mark())
            if sign in " \t":
                self.forward()
            elif sign in _BREAKS:
                breaks.append(self.scan_line_break())  # type: ignore[no-untyped-call]
            else:
                folded = [first] if first != "\n" else [] if breaks else [" "]
                return folded + breaks
        return None

    def _at_document(self) -> bool:
        return self.column == 0 and self.prefix(3) in ("---", "...") and self.peek(3) in _ENDS


_Loader: Any = getattr(yaml, "CSafeLoader", TabLoader)


def events(text: str) -> Iterator[Any]:
    """Yield the events of a text.

    Raises:
        yaml.YAMLError, ValueError: it is not YAML.
    """
    return yaml.parse(text, Loader=_Loader)


def wrong_at(text: str, error: yaml.MarkedYAMLError) -> tuple[int, str]:
    """Return the character at which a text is wrong, and what is said of it: the same whichever reader saw it."""
    if _Loader is not TabLoader and len(text) <= _LONGEST_AGAIN and _open_at_most(text, _DEEPEST_AGAIN):
        try:
            for _ in yaml.parse(text, Loader=TabLoader):
                pass
        except yaml.MarkedYAMLError as own:
            error = own
        except yaml.YAMLError:
            pass
    mark: Any = error.problem_mark or error.context_mark
    return mark.index if mark else 0, " ".join(filter(None, (error.context, error.problem)))


def _open_at_most(text: str, depth: int) -> bool:
    """Whether no more than ``depth`` brackets are ever open, those in quotes counted as well."""
    steps = (1 if sign in "[{" else -1 for sign in text if sign in "[]{}")
    return max(accumulate(steps), default=0) <= depth


def unprintable(text: str, error: Exception) -> tuple[int, str]:
    """Return the first character that YAML does not allow, and what is said of it."""
    wrong = Reader.NON_PRINTABLE.search(text)
    if wrong is None:
        return 0, getattr(error, "reason", None) or "characters that YAML does not allow"
    surrogate = "\ud800" <= wrong[0] <= "\udfff"
    return wrong.start(), "surrogates not allowed" if surrogate else "control characters are not allowed"
