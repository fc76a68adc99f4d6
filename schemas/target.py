"""The release that a deployment is checked against, and how releases compare.

A target names vllm-ascend (which brings the vLLM it is built for) or vLLM alone. ``.postN``, ``+local`` and ``.devN``
belong to their release; between two rows of a table the older row counts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from packaging.version import Version

from pd_launch.schemas.errors import ValueFault
from pd_launch.schemas.releases.pairing import ASCEND_PAIRS, VLLM_RELEASES

Decider = Literal["--target", "profile", "comment", "image", "requirement", "installed", "newest", "config"]


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
            f"{shown!r} is not a release: write for example vllm-ascend==0.25.1rc1 or vllm==0.32.0",
            f"{shown!r} 不是版本:请写成 vllm-ascend==0.25.1rc1 或 vllm==0.32.0 这样",
        ) from None
    pre = "".join(map(str, version.pre)) if version.pre else ""
    return Version(f"{version.base_version}{pre}")


@dataclass(frozen=True)
class Target:
    """A release to check against.

    ``vllm_ascend`` and ``vllm`` are rows of the tables; ``asked`` is what was asked for, where it is no row itself.
    """

    vllm_ascend: str | None
    vllm: str
    decided_by: Decider
    asked: str | None = None

    @property
    def is_ascend(self) -> bool:
        """Whether vllm-ascend is the target."""
        return self.vllm_ascend is not None

    def ascend_at_least(self, text: str) -> bool:
        """Whether the target is vllm-ascend ``text`` or newer."""
        return self.vllm_ascend is not None and release(self.vllm_ascend) >= release(text)

    def ascend_before(self, text: str) -> bool:
        """Whether the target is a vllm-ascend older than ``text``."""
        return self.vllm_ascend is not None and release(self.vllm_ascend) < release(text)

    def vllm_at_least(self, text: str) -> bool:
        """Whether the vLLM (behind the) target is ``text`` or newer."""
        return release(self.vllm) >= release(text)

    def __str__(self) -> str:
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


_NAMED = re.compile(r"(vllm[-_]ascend|vllm)\s*(?:==|:|@)(.+)", re.IGNORECASE)


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


def newest(ascend: bool) -> Target:
    """Return the newest release that the tables know."""
    if ascend:
        return ascend_target(list(ASCEND_PAIRS)[-1], "newest")
    return vllm_target(VLLM_RELEASES[-1], "newest")
