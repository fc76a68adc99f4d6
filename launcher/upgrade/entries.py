"""One change that an upgrade brings for a user's files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Literal

from pd_launch.launcher.rules.edits import Edits
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.record import dataclass
from pd_launch.schemas.core.values import Origin

Kind = Literal["removed", "renamed", "moved", "refused", "default", "behaviour", "needed"]
How = Literal["certain", "plausible", "by-hand", "note"]
Group = Literal["stops", "differs", "cleans"]
"""What it does to somebody who changes nothing: the engine does not start, does something else, or nothing at all."""

Maker = Callable[[], list[Edits | None]]
"""Makes the edits when they are wanted."""


@dataclass
class Entry:
    """A change, with the edits that write it: each is tried as it is, and the first that holds is taken."""

    kind: Kind
    subject: str
    origin: Origin
    before: str
    after: str
    why: Msg
    source: str
    how: How
    group: Group
    edits: Maker | None = field(default=None, repr=False)
    touches: frozenset[str] = frozenset()
    """Names that the edits may touch; everything else that the engines are given stays."""
    help: Msg | None = None
    """What to write instead, in words."""
    written: bool = False

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What it is, and where."""
        return (self.subject, self.origin.file, self.origin.line, self.origin.column)
