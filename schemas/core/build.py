"""A build of vLLM, and of vllm-ascend, whose own files were read: what it says counts, not a row of the tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, NamedTuple

from pd_launch.schemas.core.record import dataclass


class BuiltPart(NamedTuple):
    """vLLM or vllm-ascend of a build.

    ``version`` is what it says of itself, None where it does not. ``row`` is the release of the tables whose facts
    count where no file says them. ``sections`` are as in the tables: section → name → what is said of it. ``unread``
    are the sections that could not be read: what is in them is unknown. ``is_guess`` says that the row is the one whose
    table is most like the build's, because its version does not tell.
    """

    version: str | None
    row: str
    is_guess: bool
    sections: Mapping[str, Mapping[str, Any]]
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ReadBuild:
    """What was read at one place. Two with the same ``key`` were read from the same files.

    ``place`` is how the user names it, empty for what is installed, ``path`` the same as an absolute path; either part
    may be missing.
    """

    key: str
    place: str
    path: str = field(default="", compare=False)
    vllm: BuiltPart | None = field(default=None, compare=False, repr=False)
    ascend: BuiltPart | None = field(default=None, compare=False, repr=False)

    def shown(self, ascend: bool) -> str:
        """Return its version, where it has one, and its place: ``0.1.dev1 (./fork)``."""
        part = self.ascend if ascend else self.vllm
        version = part.version if part is not None else None
        if not self.place:
            return version or "that is installed"
        return f"{version} ({self.place})" if version else f"({self.place})"


class UnreadError(LookupError):
    """A build says something about this, and it could not be read: no rule can speak of it."""
