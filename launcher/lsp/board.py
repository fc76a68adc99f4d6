"""What is shown in each file: several checks may find something in one file, such as one that two scripts read."""

from __future__ import annotations

from collections.abc import Iterable

from pd_launch.launcher.lsp.model import Shown


class Board:
    """The findings of each check by the file that they are in."""

    def __init__(self) -> None:
        self._by_check: dict[str, dict[str, list[Shown]]] = {}

    def put(self, check: str, findings: Iterable[Shown]) -> set[str]:
        """Take what a check found, in place of what it found before; return the files whose findings may differ."""
        files: dict[str, list[Shown]] = {}
        for shown in findings:
            if not shown.path.startswith("<"):
                files.setdefault(shown.path, []).append(shown)
        before = self._by_check.pop(check, {})
        if files:
            self._by_check[check] = files
        return {path for path in {*before, *files} if before.get(path) != files.get(path)}

    def of(self, path: str) -> list[Shown]:
        """Return what is shown in a file, each once, in the order of their places."""
        found: dict[tuple[object, ...], Shown] = {}
        for files in self._by_check.values():
            for shown in files.get(path, ()):
                found.setdefault((shown.code, shown.span, shown.message), shown)
        return sorted(found.values(), key=lambda shown: (shown.span, shown.code))
