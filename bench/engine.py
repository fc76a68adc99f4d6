"""Real vLLM engines on a CPU for the measurements: each in a fork of its own, one of them at work at a time.

vLLM is imported once. An engine can stay between its runs, so that runs of several engines can alternate. Each run has
its own random prompts, so that nothing is found that an earlier run has left behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import importlib
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "OMP_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "THP_MEM_ALLOC_ENABLE": "1",  # else how fast a process computes depends on the pages that it happened to get
}
BLOCK = 32  # tokens
BATCHED = 4096  # tokens of a step, at most
LAYERS, HEADS, HEAD_DIM, VOCABULARY, LONGEST = 8, 2, 64, 1024, 8192
BLOCK_BYTES = LAYERS * 2 * HEADS * HEAD_DIM * 4 * BLOCK


@dataclass(frozen=True)
class Work:
    """An engine and what it is asked. ``blocks`` is its device cache, ``host_blocks`` the budget of an offload."""

    connector: str | None = None
    module: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    role: str = "kv_consumer"
    requests: int = 8
    prompt: int = 256
    output: int = 128  # tokens, at most; the least is a quarter of it
    blocks: int = 400
    seqs: int = 8
    prefix_caching: bool = True
    batched: int = BATCHED
    arrives: bool = False  # the prompts' KV comes as from a prefill node, and costs nothing
    prepare: str = ""  # "module:function" to call in the engine's process first


def prepare() -> None:
    """Set the environment and import vLLM, once for all forks."""
    os.environ.update(ENVIRONMENT)
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
    version = importlib.import_module("importlib.metadata").version("vllm")
    os.environ.setdefault("VLLM_CACHE_ROOT", str(Path(tempfile.gettempdir()) / f"pd-launch-bench-vllm-{version}"))
    importlib.import_module("vllm.entrypoints.llm")


def model() -> Path:
    """Return the folder of a small random model whose prefill costs much more than copying its KV."""
    folder = Path(tempfile.gettempdir()) / f"pd-launch-bench-models/{LAYERS}x{HEADS}x{HEAD_DIM}x{VOCABULARY}x{LONGEST}"
    if (folder / "config.json").exists():
        return folder
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=384,
        intermediate_size=1024,
        num_hidden_layers=LAYERS,
        num_attention_heads=6,
        num_key_value_heads=HEADS,
        head_dim=HEAD_DIM,
        max_position_embeddings=LONGEST,
        initializer_range=0.1,
        tie_word_embeddings=False,
    )
    folder.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(dir=folder.parent))
    LlamaForCausalLM(config).to(torch.float32).save_pretrained(fresh)
    fresh.rename(folder)
    return folder


def transfer_config(work: Work) -> dict[str, Any] | None:
    """Return the engine's ``kv_transfer_config``: the connector, beside one that brings the prompts' KV."""
    offload = {
        "kv_connector": work.connector,
        "kv_role": work.role,
        "kv_connector_module_path": work.module,
        "kv_connector_extra_config": work.extra,
    }
    if not work.arrives:
        return offload if work.connector else None
    # filled at start and never again, so that the arrival of a prompt takes no time
    arrival = {
        "kv_connector": "DecodeBenchConnector",
        "kv_role": "kv_consumer",
        "kv_connector_extra_config": {"startup_fill": True},
    }
    if not work.connector:
        return arrival
    both = {"connectors": [arrival, offload]}
    return {"kv_connector": "MultiConnector", "kv_role": "kv_consumer", "kv_connector_extra_config": both}


class Engine:
    """One engine in a fork.

    Args:
        work: the engine and its requests.
    """

    def __init__(self, work: Work) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _die_with_parent()
            self._pipe.close()
            _serve(work, theirs)
        theirs.close()
        self._answer()

    def run(self, seed: int) -> dict[str, Any]:
        """Answer the requests once and return counts and times.

        Raises:
            RuntimeError: the engine failed.
        """
        self._pipe.send(seed)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = self._pipe.recv()
        except EOFError:
            answer = {"error": "the engine died"}
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(OSError):
            self._pipe.send(None)
        os.waitpid(self._pid, 0)


class Turn:
    """A file lock, where several measurements share a machine; held while an engine starts or runs.

    Args:
        file: the file; None for no lock.
        seconds: let others have it in between after so long.
    """

    def __init__(self, file: Path | None, seconds: float = 180) -> None:
        self._file = file.open("a") if file else None
        self._seconds = seconds
        self._since = 0.0
        self._take()

    def _take(self) -> None:
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_EX)
        self._since = time.monotonic()

    def yield_if_long(self) -> None:
        """Let others have their turn, if this one has lasted long."""
        if self._file is not None and time.monotonic() - self._since > self._seconds:
            self.end()
            time.sleep(1)
            self._take()

    def end(self) -> None:
        """Unlock. Closing would not do: an engine forked meanwhile has the file open too."""
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)


def _die_with_parent() -> None:
    """Ask the kernel to end this process when its parent ends, however that happens."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _serve(work: Work, pipe: Any) -> None:
    """Make the engine and answer until told to end; never returns."""
    silent = os.open(os.devnull, os.O_WRONLY)
    if not os.environ.get("PD_LAUNCH_BENCH_LOG"):
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        sys.stdout = sys.stderr = os.fdopen(silent, "w")
    try:
        runner = _Runner(work)
        runner.run(10_000, replace(work, requests=1, output=4))
        pipe.send({})
        while (seed := pipe.recv()) is not None:
            pipe.send(runner.run(seed, work))
    except BaseException as error:  # noqa: BLE001  whatever it is, it is the answer
        with contextlib.suppress(OSError):  # nobody asks any more
            pipe.send({"error": f"{type(error).__name__}: {error}\n{traceback.format_exc()[-3000:]}"})
    os._exit(0)


class _Runner:
    """The engine in its own process, with counters on its scheduler."""

    def __init__(self, work: Work) -> None:
        from vllm import LLM

        if work.prepare:
            module, _, name = work.prepare.partition(":")
            getattr(importlib.import_module(module), name)()
        self.counts: dict[str, int] = {}
        self._count()
        options: dict[str, Any] = {
            "enforce_eager": True,
            "max_model_len": work.prompt + work.output + BLOCK,
            "max_num_batched_tokens": work.batched,
            "block_size": BLOCK,
            "num_gpu_blocks_override": work.blocks,
            "max_num_seqs": work.seqs,
            "enable_prefix_caching": work.prefix_caching,
            "dtype": "float32",
            "skip_tokenizer_init": True,
            "disable_log_stats": True,
            "async_scheduling": False,
        }
        if config := transfer_config(work):
            options["kv_transfer_config"] = config
        self.engine = LLM(str(model()), **options).llm_engine
        self.watch = Watch(self.engine)

    def _count(self) -> None:
        from vllm.v1.core.sched.scheduler import Scheduler

        preempt, schedule = Scheduler._preempt_request, Scheduler.schedule

        def counted_preempt(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            self.counts["preempted"] += 1
            return preempt(scheduler, *args, **kwargs)

        def counted_schedule(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            output = schedule(scheduler, *args, **kwargs)
            tokens = sum(output.num_scheduled_tokens.values())
            self.counts["steps" if tokens else "empty_steps"] += 1  # empty: all that is left waits for a copy
            self.counts["scheduled"] += tokens
            return output

        Scheduler._preempt_request = counted_preempt
        Scheduler.schedule = counted_schedule

    def run(self, seed: int, work: Work) -> dict[str, Any]:
        """Answer the requests once."""
        from vllm import SamplingParams

        source = random.Random(seed)
        self.counts.update(steps=0, empty_steps=0, scheduled=0, preempted=0)
        self.watch.clear()
        outputs = [source.randint(work.output // 4, work.output) for _ in range(work.requests)]
        for i, output in enumerate(outputs):
            prompt = [source.randrange(3, VOCABULARY) for _ in range(work.prompt)]
            sampling = SamplingParams(temperature=0, max_tokens=output, ignore_eos=True, detokenize=False)
            self.engine.add_request(f"{seed}-{i}", {"prompt_token_ids": prompt}, sampling)
        times: dict[str, list[float]] = {}
        begin, used = time.perf_counter(), time.process_time()
        in_steps = 0
        steps: list[tuple[float, int, int]] = []  # seconds, scheduled tokens, tokens that came out
        while self.engine.has_unfinished_requests():
            start, scheduled = time.perf_counter_ns(), self.counts["scheduled"]
            answers = self.engine.step()
            took = time.perf_counter_ns() - start
            in_steps += took
            steps.append((took / 1e9, self.counts["scheduled"] - scheduled, len(answers)))
            now = time.perf_counter()
            for answer in answers:
                times.setdefault(answer.request_id, []).append(now)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - used
        gaps = sorted(b - a for each in times.values() for a, b in pairwise(each))
        tokens = sum(outputs)
        return {
            **self.counts,
            "minimum": sum((1 if work.arrives else work.prompt) + output - 1 for output in outputs),
            "seconds": seconds,
            "cpu_seconds": cpu,
            "tokens_per_second": tokens / seconds,
            "tokens_per_cpu_second": tokens / cpu,
            "p50_ms": 1e3 * gaps[len(gaps) // 2] if gaps else 0.0,
            "p99_ms": 1e3 * gaps[int(len(gaps) * 0.99)] if gaps else 0.0,
            "step_ns": in_steps,
            "outputs": outputs,
            "per_step": steps,
            "ttft": sorted(each[0] - begin for each in times.values()),
            "itl": sorted((each[-1] - each[0]) / (len(each) - 1) for each in times.values() if len(each) > 1),
            "connector_ns": self.watch.nanoseconds,
            "connector_calls": self.watch.calls,
        }


class Watch:
    """Sums the time spent inside the connector's methods, on both sides, nested calls once."""

    def __init__(self, engine: Any) -> None:
        self._depth = 0
        self.clear()
        scheduler = engine.engine_core.engine_core.scheduler
        if scheduler.connector is None:
            return
        from vllm.distributed.kv_transfer import get_kv_transfer_group
        from vllm.distributed.kv_transfer.kv_connector.v1.base import KVConnectorBase_V1

        names = [name for name in dir(KVConnectorBase_V1) if not name.startswith("_")]
        for side in (scheduler.connector, get_kv_transfer_group()):
            for name in names:
                method = getattr(side, name, None)
                if callable(method):
                    setattr(side, name, self._timed(method))

    def clear(self) -> None:
        """Start from zero."""
        self.nanoseconds = 0
        self.calls = 0

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            if self._depth:
                return method(*args, **kwargs)
            self._depth += 1
            begin = time.perf_counter_ns()
            try:
                return method(*args, **kwargs)
            finally:
                self.nanoseconds += time.perf_counter_ns() - begin
                self.calls += 1
                self._depth -= 1

        return timed
