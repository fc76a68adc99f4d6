"""What the first moments need, before the command line is even imported: signals, and no collecting of garbage."""

from __future__ import annotations

import gc
import os
import signal

_INTERRUPTED, _TERMINATED = 130, 143


def guard() -> None:
    """End at once, with no word, at an interrupt; and at TERM where this is process 1.

    The kernel drops signals for which process 1 of a container has no handler, and an early Ctrl-C would show where in
    its imports Python was. Whoever supervises engines has handlers of its own later.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))
    if os.getpid() == 1 and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda *_: os._exit(_TERMINATED))


def collect_seldom() -> None:
    """Let a short run with many objects that stay not look through them again and again: that is 15 % of it."""
    gc.set_threshold(100_000)


def interrupts_are_exceptions() -> None:
    """Let an interrupt be a KeyboardInterrupt again, which a command may clean up after."""
    if signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, signal.default_int_handler):
        signal.signal(signal.SIGINT, signal.default_int_handler)
