"""Looks at engines written down, one JSON line each, and read again.

A line holds ``time`` (Unix) and ``engines``: the address, what it answered, and in ``page`` the series of its /metrics
that are known, histograms included, so that ``pd-launch simulate`` can draw a workload from it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from pd_launch.launcher.opening import open_input
from pd_launch.launcher.secrets.masking import mask_lines
from pd_launch.launcher.status.fetch import BadAddress, Page, parse_address
from pd_launch.launcher.status.look import MAX_ENGINES, Seen, seen_of
from pd_launch.launcher.status.page import known_lines
from pd_launch.schemas.core.msg import Msg

VERSION = 1
MAX_LINE = 64 << 20
"""Bytes of one look that are read again: far more than the pages of the most engines that are asked at once."""
_KIND = "pd-launch status"


class BadRecord(ValueError):
    """A file is no record; the text says where it is none."""


def line_of(seen: Sequence[Seen], clock: float) -> str:
    """Return one look as a line."""
    engines = [
        {
            "url": one.address.shown,
            "answer": one.answer,
            "fault": one.fault.en,
            "version": one.version,
            "health": one.health,
            "page": known_lines(one.body),
        }
        for one in seen
    ]
    return json.dumps({"kind": _KIND, "format_version": VERSION, "time": round(clock, 3), "engines": engines}) + "\n"


def is_record(path: str) -> bool:
    """Whether a file is a record, by its beginning; False for what cannot be read."""
    try:
        with open_input(path) as file:
            return file.readline(200).startswith(f'{{"kind": "{_KIND}"'.encode())
    except (OSError, ValueError):
        return False


def open_record(path: Path) -> IO[str]:
    """Open a record to write on; one that is there grows, and another file is left alone.

    Raises:
        BadRecord: it is another file.
        OSError: it cannot be written.
    """
    if path.is_file() and path.stat().st_size and not is_record(str(path)):
        raise BadRecord("it is there and no record of this command: name another file")
    return path.open("a", encoding="utf-8")


def read_record(path: str) -> Iterator[tuple[float, list[Seen]]]:
    """Give the looks of a record, one after the other.

    Raises:
        BadRecord: a line is none.
        OSError: it cannot be read.
    """
    number = 0
    with open_input(path) as file:
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if line.strip():
                yield _look(line, number)
    if not number:
        raise BadRecord("the file is empty")


def _look(line: bytes, number: int) -> tuple[float, list[Seen]]:
    wrong = BadRecord(f"line {number} was not written by pd-launch status --record")
    if len(line) > MAX_LINE:
        raise BadRecord(f"line {number} is longer than {MAX_LINE >> 20} MiB")
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise wrong from None
    if not isinstance(found, dict) or found.get("kind") != _KIND:
        raise wrong
    if found.get("format_version") != VERSION:
        raise BadRecord(f"line {number} is in a newer format: use the version of pd-launch that wrote it")
    clock, engines = found.get("time"), found.get("engines")
    if isinstance(clock, bool) or not isinstance(clock, (int, float)) or not isinstance(engines, list):
        raise wrong
    if not 0 <= clock < 1e11 or len(engines) > MAX_ENGINES:
        raise wrong
    return float(clock), [_seen(engine, wrong) for engine in engines]


def _seen(engine: Any, wrong: BadRecord) -> Seen:
    if not isinstance(engine, dict) or not isinstance(engine.get("url"), str):
        raise wrong
    try:
        address = parse_address(engine["url"])
    except BadAddress:
        raise wrong from None
    answer, page = engine.get("answer"), engine.get("page")
    if answer != "answers":
        fault = engine.get("fault")
        kind = "not_an_engine" if answer == "not_an_engine" else "no_answer"
        words = mask_lines(fault[:300]) if isinstance(fault, str) else ""
        return Seen(address, kind, Msg(words, words))
    if not isinstance(page, str):
        raise wrong
    version = json.dumps({"version": engine.get("version")}).encode()
    health = engine.get("health")
    told = Page(200 if health else 503) if isinstance(health, bool) else Page()
    return seen_of(address, Page(200, page.encode("utf-8", "replace")), Page(200, version), told)
