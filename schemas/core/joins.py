"""Lists of paths that are put before or after what a variable already holds, with ``:`` between."""

from __future__ import annotations

import re
from typing import NamedTuple

from pd_launch.schemas.core.values import HOLE, Text

_BARE, _BEFORE, _BEHIND = "", "before", "behind"


class Join(NamedTuple):
    """``before:PRESENT:after``; of a variable that is not set, or empty, only the two."""

    before: str = ""
    after: str = ""

    def around(self, present: str | None) -> str:
        """Return the value where the variable holds ``present``."""
        return ":".join(part for part in (self.before, present or "", self.after) if part)

    def over(self, inner: Join) -> Join:
        """Return what comes of this one around another."""
        return Join(_joined(self.before, inner.before), _joined(inner.after, self.after))

    def shown(self, name: str) -> str:
        """Return the value as people read it."""
        return self.around(f"${{{name}}}")


def _joined(*parts: str) -> str:
    return ":".join(part for part in parts if part)


def read_join(name: str, text: Text | None) -> Join | None:
    """Return what a value that a shell gives a variable puts around its own, or None where it is no such list."""
    if text is None or text.value.count(HOLE) != 1:
        return None
    at = text.value.index(HOLE)
    before, after = text.value[:at], text.value[at + 1 :]
    place = text.spots[at]
    written = text.source.text[place : place + 4 * len(name) + 16].replace("$$", "$")  # in compose files and manifests
    kind = _reference(written, name)
    if kind is None:
        return None
    if kind != _BEFORE and before and not before.endswith(":"):
        return None
    if kind != _BEHIND and after and not after.startswith(":"):
        return None
    before, after = before.removesuffix(":"), after.removeprefix(":")
    return Join(before, after) if before or after else None


def _reference(text: str, name: str) -> str | None:
    """Return how ``text`` begins with the variable's own value: alone, or with the colon that it needs if it is set."""
    own = rf"(?:\${name}|\${{{name}}})"
    forms = (
        (_BEFORE, rf"\${{{name}:?\+:{own}}}"),
        (_BEHIND, rf"\${{{name}:?\+{own}:}}"),
        (_BARE, rf"\${{{name}(?::?-)?}}|\${name}(?!\w)"),
    )
    return next((kind for kind, form in forms if re.match(form, text)), None)
