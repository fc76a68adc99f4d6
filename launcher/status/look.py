"""One look at several engines at once: their pages, or those of a record."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from pd_launch.launcher.status.fetch import MAX_PAGE, MAX_SMALL, Address, Page, fetch
from pd_launch.launcher.status.page import NotMetrics, Reading, read_page

MAX_ENGINES = 256
_AT_ONCE = 16
_SPARE = 1.0


@dataclass(frozen=True)
class Seen:
    """One engine's pages of one look; ``reading`` is None where they are none, and ``fault`` says why."""

    address: Address
    answer: str
    fault: str = ""
    reading: Reading | None = None
    version: str | None = None
    health: bool | None = None
    body: bytes = b""


def look(addresses: Sequence[Address], seconds: float) -> list[Seen]:
    """Read every engine, each within ``seconds`` for each of its pages, side by side.

    Whoever hangs beyond that, as a name server may, is left behind and told as one that does not answer.
    """
    found: dict[int, Seen] = {}
    done: queue.Queue[tuple[int, Seen]] = queue.Queue()
    turn = threading.Semaphore(_AT_ONCE)

    def work(place: int, address: Address) -> None:
        with turn:
            done.put((place, see(address, seconds)))

    for place, address in enumerate(addresses):
        threading.Thread(target=work, args=(place, address), daemon=True).start()
    rounds = -(-len(addresses) // _AT_ONCE)
    deadline = time.monotonic() + rounds * (2 * seconds + _SPARE)
    while len(found) < len(addresses):
        try:
            place, seen = done.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        found[place] = seen
    late = f"no answer within {seconds:g} s"
    return [found.get(i, Seen(address, "no_answer", late)) for i, address in enumerate(addresses)]


def see(address: Address, seconds: float) -> Seen:
    """Read one engine's three pages."""
    page = fetch(address, "/metrics", seconds, MAX_PAGE)
    if page.fault and not page.status:
        return Seen(address, "no_answer", page.fault)
    rest = min(seconds, 2.0)
    return seen_of(
        address, page, fetch(address, "/version", rest, MAX_SMALL), fetch(address, "/health", rest, MAX_SMALL)
    )


def seen_of(address: Address, page: Page, version: Page, health: Page) -> Seen:
    """Make of three pages what they say."""
    told = _version(version)
    healthy = health.status == 200 if health.status else None
    if page.fault:
        return Seen(address, "not_an_engine", page.fault, version=told, health=healthy)
    if page.status >= 500:
        return Seen(address, "no_answer", f"its /metrics answers with HTTP {page.status}", version=told, health=healthy)
    if page.status != 200:
        return Seen(address, "not_an_engine", f"its /metrics answers with HTTP {page.status}", version=told)
    try:
        reading = read_page(page.body)
    except NotMetrics as error:
        return Seen(address, "not_an_engine", str(error), version=told, health=healthy)
    return Seen(address, "answers", "", reading, told, healthy, page.body)


def _version(page: Page) -> str | None:
    try:
        found = json.loads(page.body) if page.status == 200 else None
    except (ValueError, RecursionError):
        return None
    told = found.get("version") if isinstance(found, dict) else None
    return told[:60] if isinstance(told, str) else None
