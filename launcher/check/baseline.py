"""A file of findings that are known and not reported: what is new stands out, and what is fixed can be dropped."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pd_launch.launcher.files import write_atomically
from pd_launch.launcher.opening import open_input
from pd_launch.launcher.report.fingerprints import Mark, below, marks
from pd_launch.launcher.secrets.masking import Secrets
from pd_launch.schemas.core.findings import Finding
from pd_launch.schemas.core.values import SourceFile

VERSION = 1
_KEY = "pd_launch_baseline"
_MAX_FILE = 32 << 20


class BaselineError(Exception):
    """A file that is no baseline; the message names it."""


class Baseline:
    """Known findings: how many of each mark. Paths are those below the folder of the file."""

    def __init__(self, path: Path, known: Mapping[Mark, int] | None = None) -> None:
        self.path = path
        self._known = Counter(known or {})

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Read a file.

        Raises:
            BaselineError: it cannot be opened, or is none.
        """
        try:
            with open_input(path) as file:
                data = file.read(_MAX_FILE + 1)
        except (OSError, ValueError) as error:
            raise BaselineError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
        try:
            table = json.loads(data.decode("utf-8")) if len(data) <= _MAX_FILE else None
        except (ValueError, RecursionError):
            table = None
        if not isinstance(table, dict) or _KEY not in table:
            raise BaselineError(
                f"{path} is not a pd-launch baseline: --write-baseline creates one under an unused name"
            )
        if table[_KEY] != VERSION:
            raise BaselineError(
                f"{path} was written by another version of pd-launch: remove it, and --write-baseline writes it anew"
            )
        entries = table.get("findings")
        if not isinstance(entries, list):
            raise BaselineError(f"{path}: findings must be a list")
        known: Counter[Mark] = Counter()
        for number, entry in enumerate(entries, 1):
            mark, count = _entry(entry) or (None, 0)
            if mark is None:
                raise BaselineError(f"{path}: entry {number} of findings is none: file, code, text, count")
            known[mark] += count
        return cls(path, known)

    def new(self, findings: Sequence[Finding], sources: Mapping[str, SourceFile], secrets: Secrets) -> list[bool]:
        """Return of each finding whether it is not known; of more than are known the last ones are new."""
        left = Counter(self._known)
        said = []
        for mark in self._marks(findings, sources, secrets):
            said.append(left[mark] < 1)
            left[mark] -= 1
        return said

    def gone(
        self,
        findings: Sequence[Finding],
        sources: Mapping[str, SourceFile],
        secrets: Secrets,
        looked_at: Callable[[str, str], bool],
    ) -> int:
        """Return how many known findings are gone, of those files and codes that this call ``looked_at``."""
        left = self._known - Counter(self._marks(findings, sources, secrets))
        return sum(count for mark, count in left.items() if looked_at(mark.file, mark.code))

    def write(
        self,
        findings: Sequence[Finding],
        sources: Mapping[str, SourceFile],
        secrets: Secrets,
        looked_at: Callable[[str, str], bool],
    ) -> int:
        """Write the findings of this call; what it did not look at stays, unless its file is gone.

        Return how many findings the file has now.

        Raises:
            OSError: it cannot be written.
        """
        folder = self.path.parent
        kept = {
            mark: count
            for mark, count in self._known.items()
            if not looked_at(mark.file, mark.code) and (mark.file.startswith("<") or (folder / mark.file).exists())
        }
        known = Counter(kept) + Counter(self._marks(findings, sources, secrets))
        lines = [
            json.dumps({"file": mark.file, "code": mark.code, "text": mark.text, "count": count}, ensure_ascii=False)
            for mark, count in sorted(known.items())
        ]
        inside = ",\n".join(f"    {line}" for line in lines)
        listed = f"[\n{inside}\n  ]" if lines else "[]"
        write_atomically(self.path, f'{{\n  "{_KEY}": {VERSION},\n  "findings": {listed}\n}}\n')
        return sum(known.values())

    def files(self, paths: Iterable[str]) -> set[str]:
        """Return paths of a call as the baseline has them."""
        return {below(path, self.path.parent) for path in paths}

    def _marks(
        self, findings: Sequence[Finding], sources: Mapping[str, SourceFile], secrets: Secrets
    ) -> Sequence[Mark]:
        return marks(findings, sources, secrets, self.path.parent)


def _entry(entry: Any) -> tuple[Mark, int] | None:
    if not isinstance(entry, dict):
        return None
    texts = [text for name in Mark._fields if isinstance(text := entry.get(name), str)]
    count = entry.get("count", 1)
    if len(texts) < len(Mark._fields) or not isinstance(count, int) or isinstance(count, bool):
        return None
    return (Mark(*texts), count) if 0 < count < 1 << 31 else None
