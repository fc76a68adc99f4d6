"""The connectors' rows as facts, so that they are read again as the others are."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from pd_launch.schemas.releases.connectors import ASCEND_CONNECTORS, VLLM_CONNECTORS, AscendConnector, VllmConnector
from pd_launch.schemas.releases.facts import Fact, Generated, Inherits, Project, rows

_HYBRID = "SupportsHMA"


def facts() -> list[Fact]:
    """Return, for every connector, in which releases it is registered and supports the hybrid manager."""
    ours = [fact for row in ASCEND_CONNECTORS.values() for fact in _of_ascend(row)]
    return [*ours, *(fact for row in VLLM_CONNECTORS.values() for fact in _of_vllm(row))]


def _of_ascend(row: AscendConnector) -> Iterator[Fact]:
    until = _after("vllm-ascend", row.until)
    yield Fact(
        f"vllm-ascend-registers-{row.name}", "vllm-ascend", row.since, until,
        f"{row.name} is registered", (Generated("connectors", row.name),),
    )  # fmt: skip
    if row.hma_since is not None:
        yield _hybrid("vllm-ascend", row.name, row.hma_since, until, absent=False)


def _of_vllm(row: VllmConnector) -> Iterator[Fact]:
    yield Fact(
        f"vllm-registers-{row.name}", "vllm", row.since, row.until,
        f"{row.name} is registered", (Generated("connectors", row.name),),
    )  # fmt: skip
    if row.hma_since is not None:
        yield _hybrid("vllm", row.name, row.hma_since, row.until, absent=False)
    if row.no_hma is not None:
        yield _hybrid("vllm", row.name, row.no_hma[0], _after("vllm", row.no_hma[1]), absent=True)


def _hybrid(project: Project, name: str, since: str, until: str | None, absent: bool) -> Fact:
    verb = "lacks" if absent else "has"
    return Fact(
        f"{project}-{name}-{verb}-hybrid-manager", project, since, until,
        f"{name} {'does not support' if absent else 'supports'} the hybrid KV cache manager",
        (Inherits(name, _HYBRID, absent=absent, within=absent),),
    )  # fmt: skip


def _after(project: Project, last: str | None) -> str | None:
    newer = [row for row in rows(project) if last is not None and Version(row) > Version(last)]
    return newer[0] if newer else None
