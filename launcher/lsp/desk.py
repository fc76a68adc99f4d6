"""What is checked when: the open files, which of them wait for a check, and what came of the last one.

One check runs at a time; what is typed meanwhile waits for the next one, once, however many keys were pressed.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterable, Sequence

from pd_launch.launcher.lsp.board import Board
from pd_launch.launcher.lsp.client import Worker, WorkerFailed
from pd_launch.launcher.lsp.hold import compared, held, is_torn
from pd_launch.launcher.lsp.model import Answer, Change, Job, Kind, Shown
from pd_launch.launcher.lsp.worker import fault
from pd_launch.schemas.core.record import dataclass

PAUSE = 0.1
"""Seconds without a key until a check begins."""
SLOW = 2.0
"""Seconds after which a check is given up when its file is edited: its answer would be about an old text."""

Show = Callable[[str, list[Shown]], None]
Say = Callable[[str, bool], None]
"""Takes a message for the user, and whether it must be seen; the others go to the log."""


@dataclass
class _Open:
    text: str
    as_it_is: bool = True
    """Whether the text was opened or saved like this: nobody is in the middle of a word."""
    whole: tuple[str, Answer] | None = None
    """The last text that could be read as it was, and what was found in it."""
    torn: bool = False
    reads: frozenset[str] = frozenset()


class Desk:
    """The open files by absolute path."""

    def __init__(self, worker: Worker, show: Show, say: Say, pause: float = PAUSE) -> None:
        self.roots: list[str] = []
        self.encoding = "utf-16"
        self._worker = worker
        self._show = show
        self._say = say
        self._pause = pause
        self._open: dict[str, _Open] = {}
        self._board = Board()
        self._waiting: dict[str, None] = {}
        self._afresh = True
        self._hurry = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._running: tuple[str, float] | None = None
        self._said: set[str] = set()
        self._edits = 0
        self._fixes: dict[str, tuple[int, Answer]] = {}
        self.lang = ""
        """The language of the last answer: a configuration may say it."""
        self.checks = 0
        """Checks that were begun so far."""

    def open(self, path: str, text: str) -> None:
        """Take an opened file."""
        self._open[path] = _Open(text)
        self._afresh = True
        self._touched(path)

    def change(self, path: str, text: str) -> None:
        """Take the text of a file after an edit."""
        opened = self._open.get(path)
        if opened is None or opened.text == text:
            return
        opened.text, opened.as_it_is = text, False
        if self._running is not None and self._running[0] == path and time.monotonic() - self._running[1] > SLOW:
            self._worker.end()
        self._touched(path)

    def save(self, path: str) -> None:
        """Take what is in a file as meant."""
        opened = self._open.get(path)
        if opened is not None:
            opened.as_it_is = True
        self.look_afresh()

    def close(self, path: str) -> None:
        """Let go of a file; what other open files say of it stays."""
        gone = self._open.pop(path, None)
        self._waiting.pop(path, None)
        self._fixes.pop(path, None)
        for file in self._board.put(path, ()):
            self._show(file, self._board.of(file))
        self._afresh = True
        if gone is not None:
            self._touched(path)

    def look_afresh(self) -> None:
        """Check all open files again: others may have come or gone, or a configuration changed."""
        self._afresh = True
        self._edits += 1
        self._wait_for(self._open)

    def shown(self, path: str) -> list[Shown]:
        """Return what is shown in a file."""
        return self._board.of(path)

    def text(self, path: str) -> str | None:
        """Return the text of an open file."""
        opened = self._open.get(path)
        return opened.text if opened else None

    async def fixes(self, path: str) -> list[Shown]:
        """Return what is shown in a file with the fixes that would be made."""
        await self.settled()
        opened, edits = self._open.get(path), self._edits
        if opened is None or opened.torn or not self._board.of(path):
            return []
        known = self._fixes.get(path)
        if known is None or known[0] != edits:
            answer = await self._ask("fixes", path)
            if answer is None or edits != self._edits:
                return []  # it was edited meanwhile: the places are those of an old text
            known = self._fixes[path] = (edits, answer)
        there = {(shown.code, shown.span, shown.message) for shown in self._board.of(path)}
        wanted = (shown for shown in known[1].shown if shown.path == path and shown.repair is not None)
        return [shown for shown in wanted if (shown.code, shown.span, shown.message) in there]

    async def fix_all(self, path: str) -> Sequence[Change]:
        """Return the changes of all fixes in a file that are certain."""
        await self.settled()
        opened, edits = self._open.get(path), self._edits
        if opened is None or opened.torn or not self._board.of(path):
            return []
        answer = await self._ask("fix-all", path)
        return answer.changes if answer is not None and edits == self._edits else []

    async def settled(self) -> None:
        """Wait until nothing waits for a check, without the pause for further keys."""
        self._hurry.set()
        while self._task is not None and not self._task.done():
            await asyncio.shield(self._task)

    def stop(self) -> None:
        """Let go of everything."""
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
        self._worker.end()

    def _touched(self, path: str) -> None:
        """Let a file be checked, and all that read it."""
        self._edits += 1
        self._wait_for([p for p, o in self._open.items() if path in o.reads and p != path])
        self._wait_for([path] if path in self._open else [])

    def _wait_for(self, paths: Iterable[str]) -> None:
        for path in paths:
            self._waiting.pop(path, None)
            self._waiting[path] = None  # what was touched last is checked first
        if self._waiting and (self._task is None or self._task.done()):
            self._hurry.clear()
            self._task = asyncio.ensure_future(self._check_all())

    async def _check_all(self) -> None:
        while self._waiting:
            edits = -1
            while edits != self._edits and not self._hurry.is_set():
                edits = self._edits
                await _first(self._hurry.wait(), self._pause)
            if not self._waiting:
                return
            path, _ = self._waiting.popitem()
            try:
                await self._check(path)
            except Exception as error:  # noqa: BLE001 - one file's fault must not end the checks of the others
                self._once(f"internal fault: {fault(error)}", False)

    async def _check(self, path: str) -> None:
        opened = self._open[path]
        texts = {file: one.text for file, one in self._open.items()}
        self.checks += 1
        self._running = (path, time.monotonic())
        answer = await self._ask("look", path)
        self._running = None
        if answer is None or self._open.get(path) is not opened:
            return
        self._take(path, opened, texts, answer)

    def _take(self, path: str, opened: _Open, texts: dict[str, str], answer: Answer) -> None:
        """Show what was found; of the other members of a deployment it is the newest word too."""
        text = texts[path]
        opened.reads = frozenset(answer.reads)
        shown: list[Shown] = answer.shown
        as_it_is = opened.as_it_is and opened.text == text
        lines = None if as_it_is or opened.whole is None else compared(opened.whole[0], text)
        opened.torn = lines is not None and is_torn(opened.whole[1], answer, path, lines) if opened.whole else False
        if opened.torn and opened.whole is not None and lines is not None:
            shown = held(opened.whole[1], answer, path, lines)
        changed = self._board.put(path, shown)
        for file in answer.members:
            other = self._open.get(file)
            if other is None or file not in texts:
                continue
            if not opened.torn and (file == path or other.text == texts[file]):
                other.whole = (texts[file], answer)
            if file != path and other.text == texts[file]:
                other.reads = opened.reads
                changed |= self._board.put(file, ())
                self._waiting.pop(file, None)
        if answer.members == [path] and not opened.torn:
            opened.whole = (text, answer)
        for file in sorted(changed | {path}):
            self._show(file, self._board.of(file))

    async def _ask(self, kind: Kind, path: str) -> Answer | None:
        """Return the answer to a job; None where there is none, which is said."""
        texts = {file: one.text for file, one in self._open.items()}
        job = Job(kind, path, self._root(path), texts, self.encoding, self._afresh)
        self._afresh = False
        edits = self._edits
        try:
            answer = await self._worker.ask(job)
        except WorkerFailed as failed:
            if edits == self._edits:  # else it was given up for what is newer
                self._once(f"internal fault: {failed}", False)
            return None
        self.lang = answer.lang
        if answer.refused:
            self._once(answer.refused, True)
        for notice in answer.notices:
            self._once(notice, False)
        return answer

    def _once(self, message: str, must_be_seen: bool) -> None:
        if message not in self._said:
            self._said.add(message)
            self._say(message, must_be_seen)

    def _root(self, path: str) -> str:
        """Return the folder of the workspace that a file lies in, the innermost; else its own folder."""
        around = [root for root in self.roots if path.startswith(root.rstrip("/") + "/")]
        return max(around, key=len, default=os.path.dirname(path) or "/")  # noqa: PTH120


async def _first(wait: object, seconds: float) -> None:
    """Wait for something, at most so long."""
    try:
        await asyncio.wait_for(wait, seconds)  # type: ignore[arg-type]
    except (TimeoutError, asyncio.TimeoutError):
        return
