"""Says which engines answer, and when all do."""

from __future__ import annotations

import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence

from pd_launch.launcher.supervise.rank import Rank

_EVERY = 0.5
_TIMEOUT = 2.0


class Readiness(threading.Thread):
    """Asks each engine for its health until all have answered once."""

    def __init__(self, ranks: Sequence[Rank], say: Callable[[str], None]) -> None:
        super().__init__(daemon=True, name="readiness")
        self._ranks = [rank for rank in ranks if rank.health]
        self._say = say
        self._over = threading.Event()

    def run(self) -> None:
        """Ask until all are ready or the launch is over."""
        began = time.monotonic()
        waiting = list(self._ranks)
        while waiting and not self._over.is_set():
            for rank in list(waiting):
                if is_healthy(rank.health or "") and not self._over.is_set():
                    waiting.remove(rank)
                    done = len(self._ranks) - len(waiting)
                    self._say(f"{rank.name} is ready, {done} of {len(self._ranks)}")
            self._over.wait(_EVERY)
        if self._ranks and not waiting and not self._over.is_set():
            self._say(f"all {len(self._ranks)} engines are ready after {time.monotonic() - began:.0f} s")

    def stop(self) -> None:
        """Say nothing more."""
        self._over.set()


def is_healthy(url: str) -> bool:
    """Whether an engine on this host answers 200 there. Its certificate is not looked at, nor is a proxy asked."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    handlers = (urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    try:
        with urllib.request.build_opener(*handlers).open(url, timeout=_TIMEOUT) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError, urllib.error.URLError):
        return False
    except Exception:  # noqa: BLE001  an engine may answer anything while it starts (http.client's own errors)
        return False
