"""One look at several engines at once: their pages, or those of a record."""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Sequence

from pd_launch.launcher.secrets.masking import mask_lines
from pd_launch.launcher.status.fetch import MAX_PAGE, MAX_SMALL, Address, Page, fetch, late
from pd_launch.launcher.status.page import NotMetrics, Reading, read_page
from pd_launch.schemas.core.msg import NOTHING, Msg
from pd_launch.schemas.core.record import dataclass

MAX_ENGINES = 256
_AT_ONCE = 16
_SPARE = 1.0


@dataclass(frozen=True)
class Seen:
    """One engine's pages of one look; ``reading`` is None where they are none, and ``fault`` says why."""

    address: Address
    answer: str
    fault: Msg = NOTHING
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
    return [found.get(i, Seen(address, "no_answer", late(seconds))) for i, address in enumerate(addresses)]


def see(address: Address, seconds: float) -> Seen:
    """Read one engine's three pages."""
    page = fetch(address, "/metrics", seconds, MAX_PAGE)
    if page.fault != NOTHING and not page.status:
        return Seen(address, "no_answer", page.fault)
    rest = min(seconds, 2.0)
    return seen_of(
        address, page, fetch(address, "/version", rest, MAX_SMALL), fetch(address, "/health", rest, MAX_SMALL)
    )


def seen_of(address: Address, page: Page, version: Page, health: Page) -> Seen:
    """Make of three pages what they say."""
    told = _version(version)
    healthy = health.status == 200 if health.status else None
    if page.fault != NOTHING:
        return Seen(address, "not_an_engine", page.fault, version=told, health=healthy)
    if page.status != 200:
        kind = "no_answer" if page.status >= 500 else "not_an_engine"
        fault = Msg(f"its /metrics answers with HTTP {page.status}", f"其 /metrics 返回 HTTP {page.status}")
        return Seen(address, kind, fault, version=told, health=healthy)
    try:
        reading = read_page(page.body)
    except NotMetrics as error:
        return Seen(address, "not_an_engine", error.said, version=told, health=healthy)
    return Seen(address, "answers", NOTHING, reading, told, healthy, page.body)


def _version(page: Page) -> str | None:
    try:
        found = json.loads(page.body) if page.status == 200 else None
    except (ValueError, RecursionError):
        return None
    told = found.get("version") if isinstance(found, dict) else None
    return mask_lines(told[:60]) if isinstance(told, str) else None
