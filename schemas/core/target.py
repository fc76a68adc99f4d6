"""The release that a deployment is checked against, and how releases compare.

A target names vllm-ascend (which brings the vLLM it is built for) or vLLM alone. ``.postN``, ``+local`` and ``.devN``
belong to their release; between two rows of a table the older row counts.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Literal

from packaging.version import Version

from pd_launch.schemas.core.build import ReadBuild
from pd_launch.schemas.core.errors import ValueFault
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.pairing import ASCEND_PAIRS, VLLM_RELEASES
from pd_launch.schemas.core.record import dataclass

Decider = Literal[
    "--target",
    "profile",
    "comment",
    "plan",
    "config",
    "image",
    "requirement",
    "installed",
    "path",
    "assumed",
    "unknown",
]
"""Who decided: ``assumed`` is a dry run's own choice; ``unknown`` is one of several releases that it may be."""


class TargetError(ValueFault):
    """A target that cannot be read; the message shows the right form."""


@lru_cache(maxsize=256)
def release(text: str) -> Version:
    """Return ``text`` as the version of its release: without ``.postN``, ``+local`` and ``.devN``.

    Raises:
        TargetError: it is no version.
    """
    try:
        version = Version(text)
    except ValueError:  # InvalidVersion, or a number with more digits than Python converts
        shown = text if len(text) <= 40 else f"{text[:40]}…"
        raise TargetError(
            Msg(
                f"{shown!r} is not a release: write for example vllm-ascend==0.25.1rc1 or vllm==0.32.0",
                f"{shown!r} 不是版本：请写成 vllm-ascend==0.25.1rc1 或 vllm==0.32.0 这样",
            ),
        ) from None
    pre = "".join(map(str, version.pre)) if version.pre else ""
    return Version(f"{version.base_version}{pre}")


@dataclass(frozen=True)
class Target:
    """A release to check against.

    ``vllm_ascend`` and ``vllm`` are rows of the tables; ``asked`` is what was asked for, where it is no row itself.
    ``build`` is a build whose own files were read: what they say counts instead of the rows' tables.
    """

    vllm_ascend: str | None
    vllm: str
    decided_by: Decider
    asked: str | None = None
    build: ReadBuild | None = None

    @property
    def is_ascend(self) -> bool:
        """Whether vllm-ascend is the target."""
        return self.vllm_ascend is not None

    def ascend_at_least(self, text: str) -> bool:
        """Whether the target is vllm-ascend ``text`` or newer."""
        return self.vllm_ascend is not None and release(self.vllm_ascend) >= release(text)

    def vllm_at_least(self, text: str) -> bool:
        """Whether the target's vLLM is ``text`` or newer."""
        return release(self.vllm) >= release(text)

    @property
    def written(self) -> str:
        """It as ``--target`` takes it: ``vllm==0.32.0``, or a build's path."""
        if self.decided_by == "path" and self.build is not None:
            return self.build.path
        return f"vllm-ascend=={self.vllm_ascend}" if self.vllm_ascend else f"vllm=={self.vllm}"

    @property
    def row(self) -> str:
        """The row of its family's table."""
        return self.vllm_ascend or self.vllm

    @property
    def is_before_rows(self) -> bool:
        """Whether it is older than all rows: what counts for it instead is true of later releases only."""
        if self.asked is None or self.build is not None:
            return False
        try:
            return release(self.asked) < release(self.row)
        except TargetError:
            return False

    def by(self, decided_by: Decider) -> Target:
        """Return the same release as if something else had decided it."""
        return replace(self, decided_by=decided_by)

    def __str__(self) -> str:
        if self.build is not None:
            return f"{'vllm-ascend' if self.is_ascend else 'vLLM'} {self.build.shown(self.is_ascend)}"
        return f"vllm-ascend {self.vllm_ascend}" if self.vllm_ascend else f"vLLM {self.vllm}"


def _row(asked: str, rows: list[str]) -> str:
    wanted, post = release(asked), Version(asked).post or 0
    same = [row for row in rows if release(row) == wanted and (Version(row).post or 0) <= post]
    older = same or [row for row in rows if release(row) < wanted]
    return older[-1] if older else rows[0]


def ascend_target(text: str, decided_by: Decider) -> Target:
    """Return the target for a release of vllm-ascend."""
    row = _row(text, list(ASCEND_PAIRS))
    return Target(row, ASCEND_PAIRS[row], decided_by, None if release(text) == release(row) else text)


def vllm_target(text: str, decided_by: Decider) -> Target:
    """Return the target for a release of vLLM without vllm-ascend."""
    row = _row(text, VLLM_RELEASES)
    return Target(None, row, decided_by, None if release(text) == release(row) else text)


_NAMED = lazy_pattern(r"(vllm[-_]ascend|vllm)\s*(?:==|:|@)(.+)", re.IGNORECASE)


def parse_target(text: str, decided_by: Decider = "--target") -> Target:
    """Return the target that ``vllm-ascend==X``, ``vllm==X`` (also with ``:`` or ``@``) or a bare ``X`` names.

    A bare release means vllm-ascend.

    Raises:
        TargetError: it is none of these.
    """
    match = _NAMED.fullmatch(text.strip())
    if not match:
        return ascend_target(text.strip(), decided_by)
    name, version = match.groups()
    make = vllm_target if name.lower() == "vllm" else ascend_target
    return make(version.strip(), decided_by)


@lru_cache(maxsize=8)
def rows(ascend: bool) -> tuple[Target, ...]:
    """Return every release of a family, oldest first, as one that it may be."""
    if ascend:
        return tuple(ascend_target(row, "unknown") for row in ASCEND_PAIRS)
    return tuple(vllm_target(row, "unknown") for row in VLLM_RELEASES)


def newest(ascend: bool) -> Target:
    """Return the newest release of a family, pre-releases included."""
    return rows(ascend)[-1]


@lru_cache(maxsize=2)
def newest_final(ascend: bool) -> Target:
    """Return the newest release of a family that is no pre-release."""
    return next(target for target in reversed(rows(ascend)) if not Version(target.row).is_prerelease)


@dataclass(frozen=True)
class Choice:
    """What an engine is checked for: the one release that something decided, or every release that it may be for.

    ``families`` says which may be: vllm-ascend (True), vLLM alone (False).
    """

    decided: Target | None = None
    families: tuple[bool, ...] = (True, False)

    @classmethod
    def of(cls, target: Target) -> Choice:
        """Return the choice of one release that is decided."""
        return cls(target, (target.is_ascend,))

    @cached_property
    def leads(self) -> tuple[Target, ...]:
        """The releases that findings are looked for in: of each family the newest, and the newest final one."""
        if self.decided is not None:
            return (self.decided,)
        return tuple(dict.fromkeys(t for ascend in self.families for t in (newest(ascend), newest_final(ascend))))

    @cached_property
    def rows(self) -> tuple[Target, ...]:
        """Every release that it may be, family by family, oldest first."""
        if self.decided is not None:
            return (self.decided,)
        return tuple(target for ascend in self.families for target in rows(ascend))


def ranges(some: Collection[Target], among: Iterable[Target]) -> tuple[str, ...]:
    """Return ``some`` of the releases ``among`` as texts: ``vllm-ascend from 0.28.0rc1``, ``vLLM 0.23.0 to 0.29.0``.

    ``among`` is ordered, family by family, oldest first. A family that is there as a whole is its name alone.
    """
    found: list[str] = []
    order = list(among)
    for ascend in dict.fromkeys(target.is_ascend for target in order):
        family = [target for target in order if target.is_ascend == ascend]
        found += _runs([target in some for target in family], family)
    return tuple(found)


def _runs(taken: list[bool], family: list[Target]) -> Iterable[str]:
    name, last = str(family[0]).partition(" ")[0], len(family) - 1
    start = None
    for index in range(len(family) + 1):
        inside = index <= last and taken[index]
        if inside and start is None:
            start = index
        elif not inside and start is not None:
            yield _run(name, family, start, index - 1)
            start = None


def _run(name: str, family: list[Target], first: int, last: int) -> str:
    if len(family) > 1 and (first, last) == (0, len(family) - 1):
        return name
    if first == last:
        return str(family[first])
    if last == len(family) - 1:
        return f"{name} from {family[first].row}"
    return f"{name} up to {family[last].row}" if first == 0 else f"{name} {family[first].row} to {family[last].row}"
