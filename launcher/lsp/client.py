"""The server's side of the worker: started when it is needed, and anew after it was ended."""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import sys
from dataclasses import replace

from pd_launch.launcher.lsp.model import Answer, Job, Settings
from pd_launch.launcher.lsp.worker import HEAD, packed

_START = "import sys; sys.path[:] = {path!r}; from pd_launch.launcher.lsp.worker import main; main()"
LONGEST = 150.0
"""Seconds after which a job is given up: a check ends itself before, unless it hangs."""


class WorkerFailed(Exception):
    """A job has no answer; the message says why, and holds nothing of the input."""


class Worker:
    """One process that does one job at a time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()
        self._is_fresh = True

    async def ask(self, job: Job) -> Answer:
        """Return the answer to a job, after those before it.

        Raises:
            WorkerFailed: there is none.
        """
        async with self._lock:
            try:
                answer = await asyncio.wait_for(self._exchange(job), LONGEST)
            except (TimeoutError, asyncio.TimeoutError):
                self.end()
                raise WorkerFailed(f"no answer within {LONGEST:g} s") from None
            except (OSError, asyncio.IncompleteReadError, pickle.UnpicklingError):
                self.end()
                raise WorkerFailed("the process that checks ended; it is started again for the next check") from None
            except asyncio.CancelledError:
                self.end()  # half of an answer would be taken for the next one
                raise
        if isinstance(answer, Answer):
            return answer
        raise WorkerFailed(str(answer))

    async def start(self) -> None:
        """Start the process, so that the first check finds it warm."""
        async with self._lock:
            with contextlib.suppress(OSError):
                await self._started()

    def end(self) -> None:
        """End the process; a job that it was at has no answer."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    async def _exchange(self, job: Job) -> object:
        process = await self._started()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(packed(replace(job, afresh=job.afresh or self._is_fresh)))
        await process.stdin.drain()
        self._is_fresh = False
        (size,) = HEAD.unpack(await process.stdout.readexactly(HEAD.size))
        return pickle.loads(await process.stdout.readexactly(size))

    async def _started(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            path = [place for place in sys.path if place]  # not the working folder, which is the user's
            # -I: no variable and no folder of the user's decides what is imported
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-I",
                "-c",
                _START.format(path=path),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=1 << 20,
            )
            assert self._process.stdin is not None
            self._process.stdin.write(packed(self._settings))
            self._is_fresh = True
        return self._process
