"""Reads logs of any size in bounded memory: only lines that hold one of the known literals are looked at closer."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import IO, NamedTuple

from pd_launch.launcher.logs.notices import NOTICES, Notice
from pd_launch.launcher.logs.patterns import EXCEPTION, PATTERNS, Pattern
from pd_launch.launcher.logs.wrappers import unwrapped
from pd_launch.launcher.wording.width import clean
from pd_launch.schemas.core.lazy import lazy_pattern
from pd_launch.schemas.core.record import dataclass

CHUNK = 1 << 20
MAX_UNPACKED = 1 << 30
"""Bytes of a compressed log that are read: a few megabytes may unpack without end."""
MAX_LINE = 64 * 1024
"""Bytes of a line that are kept; the rest of a longer one is skipped."""

STEMS = (
    b"ffload", b"ecompute", b"onnector", b"rror", b"RROR", b" KV cache size: ", b"KV Transfer metrics: ",
    b"Preemptions: ", b"non-default args: {", b"V1 LLM engine (v", b"num_gpu_blocks_override=", b"init engine (",
    b"startup complete.", b"Platform plugin ascend", b"custom scheduler class", b"Restoring request ",
    b"expired request", b"num_blocks", b"hybrid kv cache", b"cpu_bytes_to_use", b"refused to start", b"Shutting down",
    b'"MESSAGE":[', b'"MESSAGE": [', b'"MESSAGE" : [',
)  # fmt: skip
"""Each line that matters contains one of these; searching few short ones is what makes gigabytes quick."""

_PREFIX = lazy_pattern(
    r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<time>\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?) "
    r"(?:\[[^\]\s]+\]|\S+:\d+\]) ?"
)
_STREAM = lazy_pattern(r"^(?:\[(?P<bracket>[\w./ :-]{1,80})\] |(?P<column>[\w./-]{1,80}?) +\| )")
_ENGINE_LINE = lazy_pattern(rb"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d")
_ANSI = lazy_pattern(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_RAISED = lazy_pattern(r"\s*(?:(?:[A-Za-z_]\w*\.)*[A-Z]\w*Error:|[\w./ -]{1,60}: error:|ERROR:|Value error,) ")
"""What begins the message of an error: an exception's name, argparse's and uvicorn's words, pydantic's."""
_MARKS = lazy_pattern(r"^(?:\[[^\]]{1,80}\] |[\w./-]{1,80} +\| )?(?:\([^)]{1,60}\) )?")
_TAG = lazy_pattern(r"(?:\[[A-Za-z]\w*\] )?$")
_TAGGED = lazy_pattern(r"\[[A-Za-z]\w{0,100}\] ")


class Unread(Exception):
    """A compressed log goes on after the limit."""


@dataclass(frozen=True)
class Line:
    """A line that may say something: its number from 1, cleaned text, and where its message begins (None: unknown)."""

    number: int
    text: str
    stream: str
    time: str
    start: int | None
    level: str = ""

    def begins(self, at: int) -> bool:
        """Whether the log message begins at ``at``, perhaps after a ``[Tag]``; True where no prefix is known."""
        if self.start is None:
            return True
        return at >= self.start and bool(_TAG.fullmatch(self.text[self.start : at]))


@dataclass(frozen=True)
class Hit:
    """A pattern found in a line."""

    line: Line
    pattern: Pattern
    match: re.Match[str]


@dataclass(frozen=True)
class Noticed:
    """A notice found in a line."""

    line: Line
    notice: Notice


class Scanner:
    """Takes a log in pieces of bytes and gives what it finds, in order."""

    def __init__(self) -> None:
        self.lines = 0
        self.engine_seen = False
        """Whether any line looks like vLLM's."""
        self.cut = 0
        """Lines of which only the beginning was kept."""
        self._rest = b""
        self._skipping = False

    def feed(self, data: bytes) -> Iterator[Hit | Noticed]:
        """Take in a piece; what follows its last line end waits for the next."""
        if self._skipping:
            end = data.find(b"\n")
            if end < 0:
                return
            data, self._skipping = data[end:], False
        data = self._rest + data
        end = data.rfind(b"\n") + 1
        self._rest = data[end:]
        if len(self._rest) > MAX_LINE:
            self._rest, self._skipping = self._rest[:MAX_LINE], True
            self.cut += 1
        yield from self._scan(data[:end])

    def close(self) -> Iterator[Hit | Noticed]:
        """Take in the end: the last line may have no line end."""
        if self._rest:
            rest, self._rest = self._rest + b"\n", b""
            yield from self._scan(rest)

    def _scan(self, data: bytes) -> Iterator[Hit | Noticed]:
        if not self.engine_seen:
            self.engine_seen = _ENGINE_LINE.search(data) is not None
        counted, number = 0, self.lines + 1
        for start in sorted(self._starts(data)):
            number += data.count(b"\n", counted, start)
            counted = start
            end = data.index(b"\n", start)
            if end - start > MAX_LINE:
                self.cut += 1
            for item in found_in(data[start : min(end, start + MAX_LINE)], number):
                self.engine_seen = self.engine_seen or item.line.start is not None
                yield item
        self.lines += data.count(b"\n")

    @staticmethod
    def _starts(data: bytes) -> set[int]:
        starts = set()
        for stem in STEMS:
            at = data.find(stem)
            while at >= 0:
                starts.add(data.rfind(b"\n", 0, at) + 1)
                at = data.find(stem, data.find(b"\n", at))
        return starts


def found_in(raw: bytes, number: int) -> Iterator[Hit | Noticed]:
    """Give what one line says, or what the lines inside it do."""
    for line in unwrapped(raw):
        yield from _found_in(line, number)


_HEAD = 6
"""Characters by which the literals that begin a message are looked up: in a log full of events that is what counts."""


class _Tables(NamedTuple):
    """The literals of PATTERNS and NOTICES by where they may be, each with its place in the tables."""

    heads: dict[str, list[tuple[int, Pattern | Notice]]]
    """Those that begin a message, by their first characters."""
    anywhere: list[tuple[int, bytes, Pattern]]
    behind_errors: list[tuple[int, bytes, Notice]]


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    found = _Tables({}, [], [])
    every: tuple[Pattern | Notice, ...] = (*PATTERNS, *NOTICES)
    for index, one in enumerate(every):
        if isinstance(one, Pattern) and one.free:
            found.anywhere.append((index, one.raw, one))
        elif isinstance(one, Notice) and one.raised:
            found.behind_errors.append((index, one.raw, one))
        else:
            found.heads.setdefault(one.needle[:_HEAD], []).append((index, one))
    return found


def _candidates(line: Line, raw: bytes) -> list[Pattern | Notice]:
    """Return what a line may say, in the order of the tables."""
    heads, anywhere, behind_errors = _tables()
    found: list[tuple[int, Pattern | Notice]] = [(n, one) for n, needle, one in anywhere if needle in raw]
    if b"rror" in raw or b"ERROR" in raw:
        found += [(n, one) for n, needle, one in behind_errors if needle in raw]
    if line.start is None:
        found += [pair for group in heads.values() for pair in group if pair[1].raw in raw]
    else:
        tag = _TAGGED.match(line.text, line.start) if line.text.startswith("[", line.start) else None
        for at in (line.start,) if tag is None else (line.start, tag.end()):
            group = heads.get(line.text[at : at + _HEAD], ())
            found += [pair for pair in group if line.text.startswith(pair[1].needle, at)]
    found.sort(key=lambda pair: pair[0])
    return [one for _, one in found]


def _found_in(raw: bytes, number: int) -> Iterator[Hit | Noticed]:
    line = parse_line(raw, number)
    for one in _candidates(line, raw):
        at = line.text.find(one.needle)
        if isinstance(one, Pattern):
            match = one.compiled.match(line.text, at) if at >= 0 else None
            if match is not None and (one.free or line.begins(at)):
                yield Hit(line, one, match)
        elif one.also in line.text and (_RAISED.match(_message(line, at)) if one.raised else line.begins(at)):
            yield Noticed(line, one)
    if EXCEPTION.raw not in raw:
        return
    at = line.text.find(EXCEPTION.needle)
    if at > 0 and _is_exception(line, at):
        match = EXCEPTION.compiled.match(line.text, at)
        if match is not None:
            yield Hit(line, EXCEPTION, match)


def _is_exception(line: Line, at: int) -> bool:
    """Whether ``…Error: `` is the name of an exception that begins the message, as at the end of a traceback."""
    if line.level in ("DEBUG", "INFO", "WARNING"):
        return False  # handled by whoever logged it
    return re.fullmatch(r"\s*(?:[A-Za-z_]\w*\.)*[A-Z]\w*", _message(line, at)) is not None


def _message(line: Line, end: int) -> str:
    """The message up to ``end``, without what is in front of it."""
    return _MARKS.sub("", line.text[:end]) if line.start is None else line.text[line.start : end]


def parse_line(raw: bytes, number: int) -> Line:
    """Return a line cleaned of what a terminal would act on, with its prefix taken apart."""
    text = raw.decode("utf-8", "replace").rstrip("\r")
    text = clean(_ANSI.sub("", text) if "\x1b" in text else text)
    prefix = _PREFIX.search(text, 0, 400)
    head = text[: prefix.start()] if prefix else text[:200]
    found = _STREAM.match(head if prefix else text)
    stream = (found["bracket"] or found["column"] or "") if found else ""
    if not prefix:
        return Line(number, text, stream, "", None)
    return Line(number, text, stream, prefix["time"], prefix.end(), prefix["level"])


def read_chunks(file: IO[bytes], told: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """Give a file in pieces; a compressed one (gzip) is unpacked on the way. ``told`` gets the bytes read so far."""
    head = file.read(CHUNK)
    done = len(head)
    if head[:2] == b"\x1f\x8b":
        yield from _unpacked(file, head, told)
        return
    while head:
        if told is not None:
            told(done)
        yield head
        head = file.read(CHUNK)
        done += len(head)


def _unpacked(file: IO[bytes], head: bytes, told: Callable[[int], None] | None) -> Iterator[bytes]:
    """Unpack by hand: a pipe cannot seek, and a file that is still written has no end yet.

    Raises:
        Unread: it goes on after the limit.
    """
    piece, done, given = head, len(head), 0
    while piece:
        unpack = zlib.decompressobj(wbits=31)
        while piece and not unpack.eof:
            data = unpack.decompress(piece, CHUNK)
            given += len(data)
            if given > MAX_UNPACKED:
                raise Unread
            if data:
                yield data
            piece = unpack.unconsumed_tail
            if not piece and not unpack.eof:
                piece = file.read(CHUNK)
                done += len(piece)
                if told is not None:
                    told(done)
        piece = unpack.unused_data or file.read(CHUNK)
