"""What the server asks of the worker, and what it gets: plain data, with places as the protocol counts them."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, NamedTuple

from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.severity import Severity
from pd_launch.schemas.core.target import Target

Kind = Literal["look", "fixes", "fix-all"]


class Spot(NamedTuple):
    """A place in a text: line and column from 0, in the units that server and editor agreed upon."""

    line: int
    column: int


class Span(NamedTuple):
    """A part of a text; the end is exclusive."""

    start: Spot
    end: Spot


@dataclass(frozen=True)
class Settings:
    """What the command line says, for all files."""

    target: Target | None = None
    lang: str | None = None
    locale: str = "en"
    """The language where neither the command line nor a configuration says one."""


@dataclass(frozen=True)
class Job:
    """One thing to do for an open file.

    ``look`` finds without trying fixes, ``fixes`` with those alone that would be made, ``fix-all`` makes them.
    """

    kind: Kind
    path: str
    """Absolute path of the file."""
    root: str
    """The folder that is checked: of the workspace, or the file's own."""
    texts: dict[str, str]
    """The texts of all open files by absolute path."""
    encoding: str = "utf-16"
    afresh: bool = False
    """Whether files may have come or gone since the last job."""


@dataclass(frozen=True)
class Change:
    """Replace a part of a file by ``text``."""

    path: str
    span: Span
    text: str


@dataclass(frozen=True)
class Repair:
    """The fix of a finding."""

    message: str
    safe: bool
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Shown:
    """A finding as an editor shows it; secrets are masked."""

    code: str
    name: str
    severity: Severity
    message: str
    path: str
    span: Span
    related: tuple[tuple[str, Span, str], ...] = ()
    repair: Repair | None = None
    grammar: bool = False
    """Whether it speaks of how the text is written: an open quote changes the meaning of all that follows."""


@dataclass
class Answer:
    """What came of a job."""

    shown: list[Shown] = field(default_factory=list)
    members: list[str] = field(default_factory=list)
    """The files that were checked together, by absolute path."""
    reads: set[str] = field(default_factory=set)
    """All files that were read."""
    open: set[str] = field(default_factory=set)
    """Scripts that cannot be read as they are: a quote or here-document is open, or the shell's grammar is broken."""
    lang: str = "en"
    refused: str = ""
    """Why nothing was checked, for the user."""
    notices: list[str] = field(default_factory=list)
    """What could not be read or obeyed, for the user."""
    changes: list[Change] = field(default_factory=list)
    """What ``fix-all`` would change in the file."""
