"""Texts that an editor holds and has not saved: they count over the files on disk. A command has none."""

from __future__ import annotations

import os
from collections.abc import Mapping

_TEXTS: dict[str, str] = {}
"""By the file's path with links followed."""


def hold(texts: Mapping[str, str]) -> None:
    """Take texts by the absolute paths of their files, in place of those before."""
    _TEXTS.clear()
    _TEXTS.update((real(path), text) for path, text in texts.items())


def text_of(path: str) -> str | None:
    """Return the text that counts in place of a file's own; None where there is none."""
    return _TEXTS.get(real(path)) if _TEXTS else None


def real(path: str) -> str:
    """Return a path with links followed, as far as they can be."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path
