"""The keeper: parent of the engines. Waits for signals, for engines that end, and for the end of the front."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from pd_launch.launcher.supervise.family import adopt_orphans, descendants, kill_all, reap, send
from pd_launch.launcher.supervise.notify import Notifier
from pd_launch.launcher.supervise.output import Last, Pump, RotatedFile, Sink, to_descriptor
from pd_launch.launcher.supervise.rank import IGNORED, STOPPING, Rank, start
from pd_launch.launcher.supervise.ready import Readiness
from pd_launch.launcher.supervise.watch import Watch
from pd_launch.schemas.core.words import agreeing, listed

NOT_STARTED = 126
_PART_ENDED = 1
_ORPHANS = 5.0
"""Seconds that processes have which an engine left behind."""
_LAST_OUTPUT = 2.0
_TICK = 0.5


class Keeper:
    """Runs ``ranks`` until all have ended. ``life`` is a pipe that closes when the front ends.

    Stopping starts with a signal, with the first engine that fails, or with the end of the front. The engines get the
    signal (TERM for the last two), and KILL when ``grace`` seconds are over or at an INT after another signal.
    """

    def __init__(self, ranks: Sequence[Rank], grace: float, life: int, watch: Watch | None = None) -> None:
        self._ranks = ranks
        self._grace = grace
        self._life: int | None = life
        self._running: dict[int, Rank] = {}
        self._status = 0
        self._stopping = False
        self._kill_at: float | None = None
        self._alone_until: float | None = None
        self._signals: list[int] = []
        self._watch = watch or Watch()
        self._out, self._err = Sink(to_descriptor(1), "output"), Sink(to_descriptor(2), "messages")
        self._files: list[Sink] = []
        self._pumps: list[Pump] = []
        self._last = {rank.name: Last() for rank in ranks}
        self._ready = Readiness(ranks, self._say, self._watch, self._last)
        self._notifier = Notifier(self._watch.notify)

    def _say(self, text: str) -> None:
        self._err.line(f"pd-launch: {text}".encode(), ours=True)

    def run(self) -> int:
        """Return the status of the whole: that of the first engine that failed, else 0."""
        adopt_orphans()
        wake = self._listen()
        if self._start():
            for thread in (self._out, self._err, *self._files, *self._pumps, self._ready):
                thread.start()
            while self._running:
                self._wait(wake)
        self._ready.stop()
        self._end_orphans()
        self._finish_output()
        return self._status

    def _finish_output(self) -> None:
        """Wait for what is still on its way out; not long, where nobody reads it."""
        until = time.monotonic() + _LAST_OUTPUT
        for pump in self._pumps:
            if pump.is_alive():
                pump.join(max(0.0, until - time.monotonic()))
        for sink in (self._out, self._err, *self._files):
            sink.close()
            if sink.ident is None:  # not "is not alive": it may have ended just now
                sink.start()
        for sink in (self._out, self._err, *self._files):
            if sink.is_alive():
                sink.join(max(0.0, until - time.monotonic()))

    def _listen(self) -> int:
        """Take signals as bytes of a pipe, so that one ``select`` waits for everything."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        os.set_blocking(reader, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        for number in (*STOPPING, *IGNORED, signal.SIGQUIT, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        return reader

    def _start(self) -> bool:
        """Start all engines; where one cannot be executed, end the others."""
        for rank in self._ranks:
            try:
                process = start(rank)
            except (OSError, subprocess.SubprocessError) as error:
                reason = error.strerror if isinstance(error, OSError) else str(error)
                self._say(f"{rank.name}: {rank.argv[0]} cannot be executed: {reason}")
                self._status = NOT_STARTED
                return False
            assert process.stdout is not None and process.stderr is not None
            self._running[process.pid] = rank
            file = self._log_file(rank)
            for source, sink in ((process.stdout, self._out), (process.stderr, self._err)):
                self._pumps.append(Pump(rank.name, source, (sink,), file, self._last[rank.name]))
            process.returncode = 0  # it is reaped here, with all others; Popen must not look for it
            self._say(f"{rank.name} started, pid {process.pid}")
        return True

    def _log_file(self, rank: Rank) -> Sink | None:
        if self._watch.log_dir is None:
            return None
        path = Path(self._watch.log_dir, f"{rank.name}.log")
        file = RotatedFile(path, self._watch.log_bytes, self._watch.log_files)
        self._files.append(Sink(file.write, f"log of {rank.name}"))
        return self._files[-1]

    def _look(self) -> None:
        """Act on what the engines' health says."""
        if self._stopping:
            return
        if self._ready.all_well:
            self._notifier.ready()
            self._notifier.alive()
        if self._ready.late:
            self._status = self._status or _PART_ENDED
            self._stop(signal.SIGTERM, "not all engines got ready in time")
        elif self._ready.ill and self._watch.restarts:
            self._status = self._status or _PART_ENDED
            ill = sorted(self._ready.ill)
            self._stop(signal.SIGTERM, f"{listed(ill).en} {agreeing(len(ill), 'hangs', 'hang')}")

    def _wait(self, wake: int) -> None:
        sources = [wake] if self._life is None else [wake, self._life]
        ready, _, _ = select.select(sources, [], [], _TICK)
        if self._life in ready:
            self._life = None  # it never has data: readable means closed
            self._stop(signal.SIGTERM, "the process that started us was killed")
        for number in os.read(wake, 512) if wake in ready else b"":
            if number in STOPPING or number == signal.SIGQUIT:
                self._signal(signal.SIGTERM if number == signal.SIGQUIT else number)
        self._ended(reap())
        self._look()
        now = time.monotonic()
        if self._kill_at is not None and now >= self._kill_at:
            self._kill()
        elif self._alone_until is not None and now >= self._alone_until and not self._stopping:
            self._status = self._status or _PART_ENDED
            self._stop(signal.SIGTERM, "they did not end")

    def _signal(self, number: int) -> None:
        name = signal.Signals(number).name
        if self._stopping and number == signal.SIGINT and self._signals:
            self._say("SIGINT again: killing the engines")
            self._kill()
            return
        self._signals.append(number)
        if self._stopping:
            self._forward(number)
        else:
            self._stop(number, f"got {name}")

    def _stop(self, number: int, why: str) -> None:
        if self._stopping:
            return
        self._stopping = True
        self._ready.stop()
        self._notifier.stopping()
        self._kill_at = time.monotonic() + self._grace
        if self._running:
            names = ", ".join(rank.name for rank in self._running.values())
            self._say(f"{why}: {signal.Signals(number).name} to {names}; KILL follows in {self._grace:g} s")
        self._forward(number)

    def _forward(self, number: int) -> None:
        for pid in self._running:
            os.kill(pid, number)  # not reaped yet, so the number is still its own

    def _kill(self) -> None:
        if self._running:
            names = ", ".join(rank.name for rank in self._running.values())
            self._say(f"{names} did not end: KILL")
        self._report_stuck(kill_all(self._ended))
        self._running.clear()

    def _report_stuck(self, pids: Sequence[int]) -> None:
        if pids:
            self._say(f"KILL did not end the processes {', '.join(map(str, pids))}: they hang in a driver")

    def _ended(self, ended: dict[int, int]) -> None:
        # All of them leave first: what follows may signal those that run, and a number that was reaped is nobody's.
        # Orphans that we had adopted are not among them.
        over = [(self._running.pop(pid), status) for pid, status in ended.items() if pid in self._running]
        for rank, status in over:
            if status or not self._stopping:
                self._say(f"{rank.name} ended: {describe(status)}")
            self._status = self._status or status
            if self._running and status:
                self._stop(signal.SIGTERM, f"{rank.name} failed")
            elif self._running and not self._stopping and self._alone_until is None:
                self._say(f"the other engines cannot serve without it: they have {self._grace:g} s to end as well")
                self._alone_until = time.monotonic() + self._grace

    def _end_orphans(self) -> None:
        """End what the engines left behind."""
        left = descendants()
        if left:
            self._say(f"ending {len(left)} processes that the engines left behind")
            send(left, signal.SIGTERM)
        until = time.monotonic() + min(_ORPHANS, self._grace)
        while time.monotonic() < until and descendants():
            self._ended(reap())
            time.sleep(0.05)
        self._report_stuck(kill_all(self._ended))


def describe(status: int) -> str:
    """Return an exit status in words."""
    if status > 128:
        try:
            return f"killed by {signal.Signals(status - 128).name}"
        except ValueError:
            pass
    return f"status {status}"
