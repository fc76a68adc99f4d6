"""Entries for what check reports under the new release and did not under the old one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pd_launch.launcher.upgrade.entries import Entry, Group, How, Kind
from pd_launch.schemas.core.findings import Finding
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.msg import Msg
from pd_launch.schemas.core.severity import RANK
from pd_launch.schemas.core.values import Origin

_RELEASE = lazy_pattern(r"(?<![\d.])\d+\.\d+\.\d+(?:rc\d+|\.post\d+)?(?!\.?\d)")
PASSED = ("PD901", "PD902", "PD904", "PD013")
"""What speaks of the release itself, not of what it does."""
NOTES = ("PD903", "PD113", "PD406")
"""What is told and asks for nothing."""
_KINDS: dict[str, Kind] = {
    "PD004": "removed", "PD006": "removed", "PD009": "removed", "PD103": "moved", "PD201": "removed",
    "PD219": "renamed",
    "PD705": "behaviour", "PD008": "behaviour", "PD206": "needed", "PD703": "needed", "PD104": "needed",
}  # fmt: skip
_GROUPS: dict[str, Group] = {"error": "stops", "warning": "differs", "info": "cleans"}


def masked(text: str) -> str:
    """Return a message without the releases in it."""
    return _RELEASE.sub("…", text)


def new_findings(before: Iterable[Finding], after: Iterable[Finding], moved: bool) -> list[Finding]:
    """Return what is found now and was not, or is an error now and was none.

    ``moved`` where the texts differ: places do not count then.
    """

    def key(finding: Finding) -> tuple[object, ...]:
        place = () if moved else (finding.line, finding.column)
        return (finding.code, finding.file, masked(finding.message), *place)

    def spot(finding: Finding) -> tuple[object, ...]:
        return (finding.code, finding.file, finding.line, finding.column)

    worst: dict[tuple[object, ...], int] = {}
    counts: Counter[tuple[object, ...]] = Counter()
    for finding in before:
        for name in (key(finding),) if moved else (key(finding), spot(finding)):
            worst[name] = max(worst.get(name, 0), RANK[finding.severity])
            counts[name] += 1
    found: list[Finding] = []
    for finding in after:
        name = key(finding)
        if not moved and name not in worst:
            name = spot(finding)
        if RANK[finding.severity] > worst.get(name, -1) or (moved and counts[name] <= 0):
            found.append(finding)
        counts[name] -= 1
    return found


def finding_entries(findings: Sequence[Finding], pages: dict[str, str]) -> Iterator[Entry]:
    """Iterate over findings as entries."""
    for finding in findings:
        if finding.code in PASSED:
            continue
        kind: Kind = _KINDS.get(finding.code, "refused" if finding.severity == "error" else "behaviour")
        group = _GROUPS[finding.severity]
        message = Msg(finding.message, finding.message)
        page, help_ = pages.get(finding.code, ""), Msg(finding.help, finding.help)
        yield Entry(kind, finding.code, _origin(finding), finding.message, _after(finding), message, page,
                    _how(finding), group, help=help_)  # fmt: skip


def _how(finding: Finding) -> How:
    if finding.fix is not None:
        return "certain" if finding.fix.safe else "plausible"
    return "note" if finding.severity == "info" or finding.code in NOTES else "by-hand"


def _after(finding: Finding) -> str:
    return finding.fix.message if finding.fix is not None else finding.help


def _origin(finding: Finding) -> Origin:
    return Origin(finding.file, finding.line, finding.column, finding.end_line, finding.end_column)


def covered(finding: Finding, entries: Iterable[Entry]) -> bool:
    """Whether an entry speaks of the place of a finding."""
    return any(_meets(finding, entry.origin) for entry in entries)


def _meets(finding: Finding, place: Origin) -> bool:
    if finding.file != place.file:
        return False
    start, end = (finding.line, finding.column), (finding.end_line, finding.end_column)
    return start < (place.end_line, place.end_column) and (place.line, place.column) < end
