"""One engine in this process, stepped by hand, with everything drawn at random that can be done to it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

from bench.soak_figures import Clock, Figures, Memory, reasons_of
from bench.soak_rounds import OUTPUT, PROMPTS
from tests.engine.harness import (
    Counters,
    Mode,
    at_rest,
    count_all,
    ledger,
    make_engine,
    prompts,
    scheduler_side,
)

LENGTHS = (3, 20, 80, OUTPUT, OUTPUT)  # tokens to generate
LOADS = (2, 8, 14, 14, 20)  # how many requests are kept under way, for a while
# what is done in a step, beside what arrives → how likely
EVENTS = {"abort": 0.006, "load": 0.004, "pause": 0.003, "refused": 0.004, "reset": 0.0015, "connector": 0.002}


class Preemptions(Counters):
    """Counts also the preemptions that a SchedulerOutput tells of; those of requests that ended are told of no more."""

    told = 0

    def _scheduled(self, output: Any) -> None:
        super()._scheduled(output)
        self.told += len(set(output.preempted_req_ids or ()) - set(output.finished_req_ids))


class Soak:
    """One engine and its random traffic."""

    def __init__(self, mode: Mode, seconds: float, seed: int, expected: list[list[int]]) -> None:
        self.mode, self.seconds, self.expected = mode, seconds, expected
        self.draw = random.Random(seed)
        self.work = prompts(mode)
        self.counters = Preemptions()
        self.counters.install()
        self.llm = make_engine(mode)
        self.engine = self.llm.llm_engine
        self.core = self.engine.engine_core.engine_core
        self.counts = count_all(self.llm)
        self.figures = Figures(rounds=1)
        self.under_way: dict[str, tuple[int, int]] = {}  # name → prompt, tokens to generate
        self.added = 0
        self.load = 14
        self.paused = 0  # steps for which the scheduler still stands still

    def add(self) -> None:
        """Add one random request."""
        from vllm import SamplingParams

        prompt, tokens = self.draw.randrange(PROMPTS), self.draw.choice(LENGTHS)
        name = f"soak-{self.added}"
        self.added += 1
        sampling = SamplingParams(temperature=0, max_tokens=tokens, ignore_eos=True, detokenize=False)
        self.engine.add_request(name, self.work[prompt], sampling, priority=self.draw.randrange(4))
        self.under_way[name] = (prompt, tokens)

    def step(self) -> None:
        """Run one step and compare what ended."""
        for answer in self.engine.step():
            if not answer.finished or answer.request_id not in self.under_way:
                continue
            prompt, tokens = self.under_way.pop(answer.request_id)
            self.figures.answered += 1
            self.figures.different += list(answer.outputs[0].token_ids) != self.expected[prompt][:tokens]

    def happen(self, event: str) -> None:
        """Let one of the events happen."""
        if event == "load":
            self.load = self.draw.choice(LOADS)
        elif event == "abort":
            self.abort()
        elif event == "pause" and not self.paused:
            self.pause()
        elif event in ("refused", "reset", "connector"):
            self.reset(event)

    def abort(self) -> None:
        """Abort one random request."""
        if not self.under_way:
            return
        name = self.draw.choice(list(self.under_way))
        self.engine.abort_request([name])
        del self.under_way[name]
        self.figures.aborted += 1

    def pause(self) -> None:
        """Let the scheduler stand still for some steps, as /sleep?level=0 and /pause?mode=keep do, which may clear."""
        if self.draw.random() < 0.5:
            self.core.sleep(0, mode="keep")
        else:
            clear = self.draw.random() < 0.3
            self._unless_loading(lambda: self.core.pause_scheduler(mode="keep", clear_cache=clear))
        self.paused = self.draw.randint(1, 30)
        self.figures.pauses += 1

    def go_on(self) -> None:
        """Count a pause down and end it."""
        if self.paused:
            self.paused -= 1
            if not self.paused:
                self.core.wake_up(tags=["scheduling"])

    def reset(self, event: str) -> None:
        """Reset the prefix cache, and what the connector keeps.

        vLLM refuses it while requests run, and fails to while one waits for a load.
        """
        connector = event == "connector" or self.draw.random() < 0.3
        done = self._unless_loading(
            lambda: self.engine.reset_prefix_cache(reset_running_requests=event == "reset", reset_connector=connector)
        )
        self.figures.resets += bool(done)
        self.figures.resets_refused += not done

    def _unless_loading(self, clear: Callable[[], Any]) -> Any:
        """Call what clears the cache; False where vLLM preempts everything for nothing, because a load is under way."""
        try:
            return clear()
        except RuntimeError as error:
            if "Failed to reset KV cache" not in str(error):
                raise
            return False

    def drive(self) -> Figures:
        """Run for the time, then until nothing is under way."""
        clock, memory = Clock(), Memory([os.getpid()], self.seconds)
        while (at := clock.look()) < self.seconds or self.under_way:
            memory.look(at)
            if at < self.seconds:
                self._arrive()
            self.go_on()
            self.step()
        self._rest()
        memory.end(self.figures)
        self.figures.seconds = clock.seconds
        return self.figures

    def _arrive(self) -> None:
        if len(self.under_way) < self.load and self.draw.random() < 0.5:
            self.add()
        for event, chance in EVENTS.items():
            if self.draw.random() < chance:
                self.happen(event)

    def _rest(self) -> None:
        """One more request takes the last reports in; then nothing may be held, by the connector or by vLLM."""
        self.add()
        while self.under_way:
            self.step()
        self.engine.step()
        self.engine.reset_prefix_cache()
        held = at_rest(self.llm) or {}
        figures, book, side = self.figures, ledger(self.llm), scheduler_side(self.llm)
        figures.held_host_blocks = held["taken"]
        pool = self.core.scheduler.kv_cache_manager.block_pool
        figures.held_device_blocks = pool.num_gpu_blocks - 1 - pool.get_num_free_blocks()
        kept: list[Any] = [book.copies, book.tables, side._requests, side._beside, book._saving, book._restored]
        kept += [book.shelf._touched, book.shelf._references, book.shelf._shared, book.shelf._keys]
        kept += [self.core.scheduler.requests, self.core.scheduler.running]
        figures.remembered = sum(map(len, kept))
        figures.preempted, figures.steps = self.counters.told, self.counters.values["steps"]
        figures.parked, figures.restored = (int(self.counts.get(n, 0)) for n in ("parked", "restored"))
        figures.reasons = reasons_of(self.counts)
        figures.balance()
