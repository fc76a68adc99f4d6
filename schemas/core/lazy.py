"""Regular expressions that are compiled when they are first applied.

Modules hold hundreds of them, one call applies some, and compiling all took a seventh of a check.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split")


class LazyPattern:
    """Stands for ``re.compile(pattern, flags)``, which the first use of it makes."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._given = pattern, flags

    def compiled(self) -> re.Pattern[Any]:
        """Return the expression itself."""
        pattern, flags = self._given
        return re.compile(pattern, flags)

    def __getattr__(self, name: str) -> Any:
        compiled = self.compiled()
        for method in _METHODS:  # found without coming here from then on, which costs no more than the expression's own
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyPattern, self._given


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return what ``re.compile`` would, compiled when it is first applied."""
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))
