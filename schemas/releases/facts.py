"""What holds in which releases, each fact with what shows it.

A fact says from which release on something is so, and until which (the first that is otherwise). What shows it is given
with it: a pattern in the release's own files, an entry of the generated tables, a document, or a test that ran the
release. ``scripts/reread_evidence.py`` reads all of it again; nothing here is taken on trust twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from packaging.version import Version

from pd_launch.schemas.core.pairing import ASCEND_PAIRS, VLLM_RELEASES
from pd_launch.schemas.core.record import dataclass

if TYPE_CHECKING:
    from pd_launch.schemas.core.target import Target

Project = Literal["vllm", "vllm-ascend"]


class Code(NamedTuple):
    """A pattern in a release's own files: the fact holds exactly where it matches.

    ``files`` are shell patterns of paths, with blanks between them; texts that are written in pieces are joined before
    ``pattern``, a regular expression over lines, is looked for. ``absent`` ones hold where nothing matches, and
    ``within`` ones say nothing of releases that the fact does not name.
    """

    files: str
    pattern: str
    absent: bool = False
    within: bool = False


class Generated(NamedTuple):
    """An entry of the table that scripts/read_release.py wrote: the fact holds exactly where the release has it."""

    section: str
    name: str
    absent: bool = False


class Inherits(NamedTuple):
    """The class of a registered connector has a base of that name: the fact holds exactly where it does.

    Releases that do not register the connector, or whose class is not in their own files, are passed over.
    """

    connector: str
    base: str
    absent: bool = False
    within: bool = False


class Documented(NamedTuple):
    """What nobody can read in the release's files: a page or a report that says so."""

    url: str
    says: str = ""


class Run(NamedTuple):
    """A test, as pytest names it, that runs the release itself."""

    test: str


Evidence = Code | Generated | Inherits | Documented | Run


@dataclass(frozen=True)
class Fact:
    """Something that is so from ``since`` on (None: in the oldest row too) and until ``until``, which is otherwise.

    ``again`` are further spans of the same form. ``project`` says whose releases are meant; vLLM's count on a
    vllm-ascend target too, for the vLLM that it is built for.
    """

    name: str
    project: Project
    since: str | None
    until: str | None
    meaning: str
    evidence: tuple[Evidence, ...]
    again: tuple[tuple[str, str | None], ...] = ()

    @property
    def spans(self) -> tuple[tuple[str | None, str | None], ...]:
        """First release, and the first that is otherwise, of every span."""
        return ((self.since, self.until), *self.again)

    @property
    def first(self) -> str:
        """The first release that has it, the oldest row where it was always so."""
        return self.since or rows(self.project)[0]

    @property
    def last(self) -> str:
        """The last row of the first span, the newest where it is still so; a ``.postN`` belongs to its release."""
        own = [row for row in rows(self.project) if Version(row).post is None]
        older = [row for row in own if self.until is None or Version(row) < Version(self.until)]
        return older[-1] if older else own[0]

    @property
    def before(self) -> str:
        """The last row before it was so; the oldest row where it was always so."""
        older = [row for row in rows(self.project) if self.since is not None and Version(row) < Version(self.since)]
        return older[-1] if older else rows(self.project)[0]

    def holds(self, target: Target) -> bool:
        """Whether it is so in ``target``."""
        if self.project == "vllm":
            return any(
                (since is None or target.vllm_at_least(since)) and not (until and target.vllm_at_least(until))
                for since, until in self.spans
            )
        return target.is_ascend and any(
            (since is None or target.ascend_at_least(since)) and not (until and target.ascend_at_least(until))
            for since, until in self.spans
        )

    def __str__(self) -> str:
        return f"{self.project} {self.spoken()}"

    def spoken(self) -> str:
        """Return the releases in words, such as ``0.23.0rc1 to 0.27.1rc1``."""
        if self.until is None:
            return f"{self.first} and later"
        if self.until == rows(self.project)[0]:
            return f"before {self.until}"
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


def rows(project: Project) -> list[str]:
    """Return a project's releases that the tables have, oldest first."""
    return VLLM_RELEASES if project == "vllm" else list(ASCEND_PAIRS)


def ascend(
    name: str,
    since: str | None,
    until: str | None,
    meaning: str,
    *evidence: Evidence,
    again: tuple[tuple[str, str | None], ...] = (),
) -> Fact:
    """Return a fact of vllm-ascend."""
    return Fact(name, "vllm-ascend", since, until, meaning, evidence, again)


def vllm(name: str, since: str | None, until: str | None, meaning: str, *evidence: Evidence) -> Fact:
    """Return a fact of vLLM."""
    return Fact(name, "vllm", since, until, meaning, evidence)


def platform(pattern: str, **more: bool) -> Code:
    """Return evidence in vllm-ascend's platform.py."""
    return Code("vllm_ascend/platform.py", pattern, **more)


def options(pattern: str, **more: bool) -> Code:
    """Return evidence in vllm-ascend's ascend_config.py."""
    return Code("vllm_ascend/ascend_config.py", pattern, **more)
