"""One real vLLM engine per mode, in a fork: vLLM is imported once, counters are fed from SchedulerOutput.

The engine answers the same requests several times: as it should, then with each fault switched on.

``recomputed``: tokens scheduled over all steps less the least possible, the sum over requests of prompt + output − 1.
``again``: positions that were scheduled again although their KV had been valid, which is the measure where drafts are
scheduled too.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "OMP_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_LOGGING_LEVEL": "INFO",
}
DEADLINE = 900
BUNDLED = "pd_launch.connector"
FAULTY = "tests.engine.faulty"


@dataclass(frozen=True)
class Mode:
    """One engine and its workload. ``host_blocks`` is the budget, in blocks of the model at hand."""

    model: str = "chaotic"
    connector: str | None = "RecomputeCPUOffloadConnector"
    module: str = BUNDLED
    multi: bool = False
    role: str = "kv_consumer"
    host_blocks: int = 200
    extra: dict[str, Any] = field(default_factory=dict)
    blocks: int = 24
    requests: int = 8
    prompt: int = 100
    output: int = 150
    longer: int = 0  # tokens by which each prompt is longer than the one before
    common: int = 0
    repeat: int = 0
    prefix_caching: bool = False
    asynchronous: bool = False
    drafts: int = 0
    batched: int = 0
    priority: bool = False
    tensor_parallel: int = 1
    kv_dtype: str = "auto"
    dtype: str = "float32"
    policy: str | None = None
    prompt_logprobs: int | None = None
    lora: bool = False
    digits: bool = False  # structured output: nothing but digits
    samples: int = 1
    faults: tuple[str, ...] = ()


def block_bytes(mode: Mode) -> int:
    """Bytes of a block: K and V of 2 heads × 32, as a rule float32, in 4 layers; in the hybrid two share a block."""
    if mode.model == "mla":
        return 32 * 576 * 2 * 4
    layers = 2 if mode.model == "hybrid" else 4
    width = (4 if mode.dtype == "float32" else 2) if mode.kv_dtype == "auto" else 1
    return 32 * 2 * 2 * 32 * width * layers // mode.tensor_parallel


def prepare() -> None:
    """Set the environment and import vLLM, once for all forks."""
    os.environ.update(ENVIRONMENT)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    version = importlib.import_module("importlib.metadata").version("vllm")
    os.environ.setdefault("VLLM_CACHE_ROOT", str(Path(tempfile.gettempdir()) / f"pd-launch-test-vllm-{version}"))
    importlib.import_module("vllm.entrypoints.llm")


@contextmanager
def prepared() -> Iterator[None]:
    """As prepare(), and the environment of this process is as before at the end: other tests start engines too."""
    before = {name: os.environ.get(name) for name in (*ENVIRONMENT, "PYTHONPATH", "VLLM_CACHE_ROOT")}
    prepare()
    yield
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def run(mode: Mode, task: Callable[[Mode], dict[str, Any]] | None = None) -> dict[str, Any]:
    """Run a mode in a fork and return its result; a failed engine gives {"error": …, "log": …}."""
    handle, path = tempfile.mkstemp(prefix="pd-launch-engine-", suffix=".json")
    os.close(handle)
    log = path + ".log"
    pid = os.fork()
    if pid == 0:
        _child(mode, task or serve, path, log)
    if not _wait(pid):
        return {"error": f"no end in {DEADLINE} s", "log": Path(log).read_text()[-4000:]}
    text = Path(path).read_text()
    output = Path(log).read_text()
    Path(path).unlink()
    Path(log).unlink()
    return {**json.loads(text or '{"error": "the engine died"}'), "log": output}


def _child(mode: Mode, task: Callable[[Mode], dict[str, Any]], path: str, log: str) -> None:
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(target, 1)
    os.dup2(target, 2)
    sys.stdout = sys.stderr = os.fdopen(target, "w", buffering=1)
    for handler in logging.getLogger("vllm").handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(sys.stdout)  # until now it wrote to where pytest captures
    try:
        result = task(mode)
    except BaseException as error:  # noqa: BLE001  whatever it is, it is the result
        traceback.print_exc()
        result = {"error": f"{type(error).__name__}: {error}"}
    Path(path).write_text(json.dumps(result))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _wait(pid: int) -> bool:
    deadline = time.monotonic() + DEADLINE
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return False
        time.sleep(0.05)
    return True


def transfer_config(mode: Mode) -> dict[str, Any]:
    """Return the kv_transfer_config of a mode."""
    extra = {"cpu_bytes_to_use_per_rank": mode.host_blocks * block_bytes(mode), **mode.extra}
    ours = {
        "kv_connector": mode.connector,
        "kv_role": mode.role,
        "kv_connector_module_path": mode.module,
        "kv_connector_extra_config": extra,
    }
    policy = {"kv_load_failure_policy": mode.policy} if mode.policy else {}
    if not mode.multi:
        return {**ours, **policy}
    other = {"kv_connector": "BystanderConnector", "kv_role": mode.role, "kv_connector_module_path": FAULTY}
    return {
        "kv_connector": "MultiConnector",
        "kv_role": mode.role,
        "kv_connector_extra_config": {"connectors": [other, ours]},
        **policy,
    }


def make_engine(mode: Mode) -> Any:
    """Start the engine of a mode in this process."""
    from vllm import LLM

    from tests.engine.kinds import tokenizer
    from tests.engine.models import VOCABULARY, model

    if mode.asynchronous:
        importlib.import_module("tests.engine.async_cpu")
    options: dict[str, Any] = {
        "enforce_eager": True,
        "max_model_len": 256,
        "block_size": 32,
        "num_gpu_blocks_override": mode.blocks,
        "max_num_seqs": mode.requests * mode.samples,
        "enable_prefix_caching": mode.prefix_caching,
        "dtype": mode.dtype,
        "skip_tokenizer_init": True,
        "disable_log_stats": False,
        "async_scheduling": mode.asynchronous,
        "tensor_parallel_size": mode.tensor_parallel,
        "kv_cache_dtype": mode.kv_dtype,
    }
    if mode.batched:
        options["max_num_batched_tokens"] = mode.batched
    if mode.priority:
        options["scheduling_policy"] = "priority"
    if mode.drafts:
        options["speculative_config"] = {
            "method": "ngram",
            "num_speculative_tokens": mode.drafts,
            "prompt_lookup_max": 4,
            "prompt_lookup_min": 1,
        }
    if mode.lora:
        options |= {"enable_lora": True, "max_lora_rank": 8, "max_loras": 1}
    if mode.digits:
        tokenizer(model(mode.model), VOCABULARY)
        options["skip_tokenizer_init"] = False
    if mode.connector:
        options["kv_transfer_config"] = transfer_config(mode)
    return LLM(str(model(mode.model)), **options)


def prompts(mode: Mode) -> list[dict[str, list[int]]]:
    """Return the requests' prompts as token ids."""
    source = random.Random(7)
    common = [source.randint(3, 511) for _ in range(mode.common)]
    out = []
    for i in range(mode.requests):
        length = mode.prompt + i * mode.longer - mode.common
        tokens = [source.randint(3, 511) for _ in range(mode.repeat or length)]
        out.append({"prompt_token_ids": common + (tokens * (length // len(tokens) + 1))[:length]})
    return out


class Counters:
    """Counts what the scheduler does. Install before the engine is made."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.values = {"steps": 0, "preempted": 0, "in_flight": 0, "scheduled": 0, "again": 0}
        self._valid: dict[str, int] = {}
        self.per_request: dict[str, int] = {}

    def install(self) -> None:
        from vllm.v1.core.sched.scheduler import Scheduler

        preempt, schedule = Scheduler._preempt_request, Scheduler.schedule

        def counted_preempt(scheduler: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
            self._preempted(request)
            return preempt(scheduler, request, *args, **kwargs)

        def counted_schedule(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            output = schedule(scheduler, *args, **kwargs)
            self._scheduled(output)
            return output

        Scheduler._preempt_request = counted_preempt
        Scheduler.schedule = counted_schedule

    def _preempted(self, request: Any) -> None:
        rid, in_flight = request.request_id, getattr(request, "num_in_flight_tokens", 0)
        self.values["preempted"] += 1
        self.values["in_flight"] += in_flight > 0
        self.per_request[rid] = self.per_request.get(rid, 0) + 1
        valid = min(request.num_computed_tokens, request.num_tokens + in_flight)
        self._valid[rid] = max(self._valid.get(rid, 0), valid)

    def _scheduled(self, output: Any) -> None:
        self.values["steps"] += 1
        self.values["scheduled"] += sum(output.num_scheduled_tokens.values())
        cached = output.scheduled_cached_reqs
        starts = [(r.req_id, r.num_computed_tokens) for r in output.scheduled_new_reqs]
        starts += zip(cached.req_ids, cached.num_computed_tokens, strict=True)
        for rid, start in starts:
            if rid in self._valid:
                end = start + output.num_scheduled_tokens[rid]
                self.values["again"] += max(0, min(end, self._valid[rid]) - start)
                if end >= self._valid[rid]:
                    del self._valid[rid]


def set_fault(name: str) -> None:
    """Switch a fault of :mod:`tests.engine.faulty` on, in all processes of the engine; empty for none."""
    Path(os.environ["PD_LAUNCH_TEST_FAULT"]).write_text(name)


def serve(mode: Mode) -> dict[str, Any]:
    """Answer the mode's requests, then again with each of its faults, and return tokens and counts."""
    with tempfile.NamedTemporaryFile(prefix="pd-launch-fault-") as file:
        os.environ["PD_LAUNCH_TEST_FAULT"] = file.name
        if mode.faults:
            importlib.import_module(FAULTY)
        counters = Counters()
        counters.install()
        engine = make_engine(mode)
        seen, counts = watch_parking(ledger(engine)), count_all(engine)
        result = answer_all(engine, mode, counters, counts)
        result |= seen | {"metrics": metrics(), "mode": asdict(mode), "faults": {}}
        for fault in mode.faults:
            engine.reset_prefix_cache()
            set_fault(fault)
            result["faults"][fault] = answer_all(engine, mode, counters, counts)
        return result


def wanted(mode: Mode) -> dict[str, Any]:
    """Return how tokens are chosen: the likeliest, unless several answers are wanted; digits only, if so."""
    choice: dict[str, Any] = {"temperature": 0}
    if mode.samples > 1:
        choice = {"temperature": 1.0, "seed": 5, "n": mode.samples}
    if mode.digits:
        from vllm.sampling_params import StructuredOutputsParams

        choice["structured_outputs"] = StructuredOutputsParams(regex=f"[0-9]{{{mode.output}}}")
    return choice


def answer_all(engine: Any, mode: Mode, counters: Counters, counts: dict[str, float]) -> dict[str, Any]:
    """Answer the mode's requests once."""
    from vllm import SamplingParams

    counters.clear()
    counts.clear()
    work = prompts(mode)
    sampling = SamplingParams(
        max_tokens=mode.output,
        ignore_eos=True,
        detokenize=False,
        prompt_logprobs=mode.prompt_logprobs,
        **wanted(mode),
    )
    extra: dict[str, Any] = {"priority": [(i * 7) % 5 for i in range(mode.requests)]} if mode.priority else {}
    if mode.lora:
        from vllm.lora.request import LoRARequest

        from tests.engine import kinds, models

        extra["lora_request"] = LoRARequest("a", 1, str(kinds.adapter(models.model(mode.model), models.SHAPE)))
    start = time.monotonic()
    answers = engine.generate(work, sampling, use_tqdm=False, **extra)
    seconds = time.monotonic() - start
    tokens = [list(output.token_ids) for answer in answers for output in answer.outputs]
    asked = [len(w["prompt_token_ids"]) for w in work for _ in range(mode.samples)]
    least = sum(prompt + len(t) - 1 for prompt, t in zip(asked, tokens, strict=True))
    result = {
        **counters.values,
        "tokens": tokens,
        "finished": [answer.outputs[0].finish_reason for answer in answers],
        "seconds": round(seconds, 2),
        "recomputed": counters.values["scheduled"] - least,
        "distinct": sum(len(set(t)) for t in tokens) / len(tokens),
        "most_preempted": max(counters.per_request.values(), default=0),
        "counts": dict(counts),
    }
    # A step more takes in the last reports; by then nothing may be held.
    engine.generate(work[:1], SamplingParams(temperature=0, max_tokens=2, detokenize=False), use_tqdm=False)
    return {**result, "at_rest": at_rest(engine)}


def watch_parking(book: Any) -> dict[str, int]:
    """Return a dict that will hold the positions without a block in parked rows, and the host blocks shared."""
    seen = {"nulls": 0, "shared": 0}
    if book is None:
        return seen
    park = book.park

    def counted(request_id: str, *args: Any, **kwargs: Any) -> Any:
        parked = park(request_id, *args, **kwargs)
        if parked.tokens:
            seen["nulls"] += sum(block is None for row in book.copies[request_id].rows for block in row)
            seen["shared"] += parked.blocks - parked.copied
        return parked

    book.park = counted
    return seen


def metrics() -> dict[str, float]:
    """Return the connector's Prometheus series as {name or name{reason}: value}."""
    from prometheus_client import REGISTRY

    out: dict[str, float] = {}
    for sample in (sample for metric in REGISTRY.collect() for sample in metric.samples):
        if sample.name.startswith("pd_launch:") and not sample.name.endswith("_created"):
            reason = sample.labels.get("reason")
            out[f"{sample.name}{{{reason}}}" if reason else sample.name] = sample.value
    return out


def count_all(engine: Any) -> dict[str, float]:
    """Return a dict that will hold all the connector counts.

    The Prometheus series are no measure in every mode: LLM() throws the statistics of a step away that gives no output.
    """
    sums: dict[str, float] = {}
    side = scheduler_side(engine)
    if side is None:
        return sums
    stats = side.stats

    def counted() -> Any:
        taken = stats()
        for name, value in (taken.data["counts"] if taken else {}).items():
            sums[name] = sums.get(name, 0) + value
        return taken

    side.stats = counted
    return sums


def scheduler_side(engine: Any) -> Any:
    """Return the scheduler side of the engine's bundled connector, or None without one."""
    connector = engine.llm_engine.engine_core.engine_core.scheduler.connector
    children = getattr(connector, "_connectors", [connector])
    return next((child.scheduler for child in children if getattr(child, "scheduler", None)), None)


def ledger(engine: Any) -> Any:
    """Return the ledger of the engine's connector, or None without one."""
    side = scheduler_side(engine)
    return side.ledger if side else None


def at_rest(engine: Any) -> dict[str, int] | None:
    """Return what the ledger still holds when nothing runs: everything should be zero."""
    book = ledger(engine)
    if book is None:
        return None
    return {"taken": book.host.total - book.host.free, "copies": len(book.copies), "tables": len(book.tables)}
