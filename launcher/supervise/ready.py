"""Says which engines answer, when all do, and which do no longer."""

from __future__ import annotations

import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence

from pd_launch.launcher.supervise.output import Last
from pd_launch.launcher.supervise.rank import Rank
from pd_launch.launcher.supervise.watch import Watch

_EVERY = 0.5
_TIMEOUT = 2.0
_BUSY_TIMEOUT = 10.0
"""An engine at work answers late; one that hangs never does."""
_FAILURES = 3
_REMIND = 60.0


class Readiness(threading.Thread):
    """Asks each engine for its health until all have answered, and from then on every ``watch.health`` seconds.

    ``late`` says that the time to get ready is over, ``ill`` which engines do not answer any more, ``all_well`` that
    all are ready and answer.
    """

    def __init__(
        self, ranks: Sequence[Rank], say: Callable[[str], None], watch: Watch, last: Mapping[str, Last]
    ) -> None:
        super().__init__(daemon=True, name="readiness")
        self._ranks = [rank for rank in ranks if rank.health]
        self._say = say
        self._watch = watch
        self._last = last
        self._over = threading.Event()
        self.ready = False
        self.late = False
        self.ill: set[str] = set()

    @property
    def all_well(self) -> bool:
        """Whether all engines are ready, and none has stopped answering."""
        return self.ready and not self.ill

    def run(self) -> None:
        """Ask until the launch is over."""
        self._until_ready()
        if self.ready and self._watch.health > 0:
            self._from_then_on()

    def _until_ready(self) -> None:
        began = remind = time.monotonic()
        pause = _REMIND
        waiting = list(self._ranks)
        while waiting and not self._over.is_set():
            for rank in list(waiting):
                if answers(rank) and not self._over.is_set():
                    waiting.remove(rank)
                    done = len(self._ranks) - len(waiting)
                    self._say(f"{rank.name} is ready, {done} of {len(self._ranks)}")
            passed = time.monotonic() - began
            if waiting and self._watch.ready_timeout is not None and passed >= self._watch.ready_timeout:
                self._still(waiting, f"not ready after {passed:.0f} s")
                self.late = True
                return
            if waiting and time.monotonic() - remind >= pause:
                self._still(waiting, f"still not ready after {passed:.0f} s")
                remind, pause = time.monotonic(), pause * 2
            self._over.wait(_EVERY)
        if self._over.is_set():
            return
        self.ready = True
        if self._ranks:
            count = len(self._ranks)
            who = "the engine is" if count == 1 else f"all {count} engines are"
            self._say(f"{who} ready after {time.monotonic() - began:.0f} s")

    def _from_then_on(self) -> None:
        failed = dict.fromkeys((rank.name for rank in self._ranks), 0)
        while not self._over.wait(self._watch.health):
            for rank in self._ranks:
                if answers(rank, min(_BUSY_TIMEOUT, max(_TIMEOUT, self._watch.health))):
                    if rank.name in self.ill:
                        self._say(f"{rank.name} answers again")
                    failed[rank.name] = 0
                    self.ill.discard(rank.name)
                    continue
                failed[rank.name] += 1
                if failed[rank.name] == _FAILURES and not self._over.is_set():
                    self._still([rank], f"does not answer /health, {_FAILURES} times in turn")
                    self.ill.add(rank.name)

    def _still(self, ranks: Sequence[Rank], what: str) -> None:
        for rank in ranks:
            line = self._last[rank.name].text() if rank.name in self._last else ""
            self._say(f"{rank.name} {what}; " + (f"its last line: {line}" if line else "it has written nothing"))

    def stop(self) -> None:
        """Say nothing more."""
        self._over.set()


def answers(rank: Rank, timeout: float = _TIMEOUT) -> bool:
    """Whether all servers of a rank answer that they are well."""
    return all(is_healthy(url, timeout) for url in rank.health)


def is_healthy(url: str, timeout: float = _TIMEOUT) -> bool:
    """Whether an engine on this host answers 200 there. Its certificate is not looked at, nor is a proxy asked."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    handlers = (urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with urllib.request.build_opener(*handlers).open(url, timeout=timeout) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError, urllib.error.URLError):
        return False
    except Exception:  # noqa: BLE001  an engine may answer anything while it starts (http.client's own errors)
        return False
