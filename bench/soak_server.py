"""Two API servers before one engine, and clients that come, go away in the middle, pause it and reset its cache."""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "scripts"))

from demo_engines import Engine, free_ports  # noqa: E402

from bench.soak_figures import Clock, Figures, Memory  # noqa: E402
from bench.soak_rounds import OUTPUT  # noqa: E402
from tests.engine.harness import ENVIRONMENT, Mode, prompts, transfer_config  # noqa: E402
from tests.engine.models import model  # noqa: E402

CLIENTS = 14
PATIENCE = 3600.0  # seconds: whoever measures something may stop all this for minutes
START = 900.0
OURS = "pd_launch:preempt_offload_"
EVENTS = ("pause", "pause", "sleep", "reset_prefix_cache", "reset_prefix_cache?reset_external=true", "reset")


def command(mode: Mode, port: int) -> list[str]:
    """Return the command that starts the servers of a mode."""
    words = f"""serve {model(mode.model)} --served-model-name soak --host 127.0.0.1 --port {port} --api-server-count 2
        --dtype float32 --enforce-eager --max-model-len 256 --block-size 32 --skip-tokenizer-init
        --num-gpu-blocks-override {mode.blocks} --max-num-seqs {CLIENTS * 2}""".split()
    words += ["--enable-prefix-caching" if mode.prefix_caching else "--no-enable-prefix-caching"]
    words += ["--scheduling-policy", "priority"] if mode.priority else []
    words += ["--max-num-batched-tokens", str(mode.batched)] if mode.batched else []
    words += ["--kv-transfer-config", json.dumps(transfer_config(mode))]
    return [sys.executable, "-m", "vllm.entrypoints.cli.main", *words]


class Servers:
    """The servers of one round and their random traffic."""

    def __init__(self, mode: Mode, seconds: float, seed: int, expected: list[list[int]]) -> None:
        self.mode, self.seconds, self.expected = mode, seconds, expected
        self.seed = seed
        self.work = [prompt["prompt_token_ids"] for prompt in prompts(mode)]
        self.figures = Figures(rounds=1)
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.engine: Engine

    def drive(self) -> Figures:
        """Start, run for the time, and look when all have got their answers."""
        (port,) = free_ports(1)
        more = {"VLLM_ENABLE_V1_MULTIPROCESSING": "1", "VLLM_SERVER_DEV_MODE": "1", "PYTHONPATH": str(ROOT)}
        more |= {"VLLM_ENGINE_READY_TIMEOUT_S": "7200", "VLLM_RPC_TIMEOUT": "7200000"}
        handle, log = tempfile.mkstemp(prefix="pd-launch-soak-", suffix=".log")
        os.close(handle)
        with Engine("soak", command(self.mode, port), ENVIRONMENT | more, port, Path(log)) as self.engine:
            self._wait(self.engine.is_healthy, START)
            self._traffic()
            self._rest()
        text = Path(log).read_text(errors="replace")
        if " ERROR " in text:
            self.figures.errors.append(f"errors in {log}")
        else:
            Path(log).unlink()
        return self.figures

    def _wait(self, condition: Callable[[], bool], seconds: float) -> None:
        clock = Clock()
        while not condition():
            self.engine.check()
            if clock.look() > seconds:
                raise TimeoutError(f"waited {seconds:.0f} s for the servers: {self.engine.log}")
            time.sleep(1)

    def _traffic(self) -> None:
        threads = [threading.Thread(target=self._client, args=(i,)) for i in range(CLIENTS)]
        threads += [threading.Thread(target=self._happen)]
        clock = Clock()
        processes = _tree(self.engine)
        self.memory = Memory(processes, self.seconds)
        for thread in threads:
            thread.start()
        while clock.look() < self.seconds and any(thread.is_alive() for thread in threads):
            self.memory.look(clock.seconds)
            self.engine.check()
            time.sleep(0.5)
        self.over.set()
        for thread in threads:
            thread.join()
        self.figures.seconds = clock.seconds

    def _client(self, number: int) -> None:
        """Ask one thing after the other, and go away in the middle of some."""
        draw = random.Random(f"{self.seed} {number}")
        while not self.over.is_set():
            prompt, tokens = draw.randrange(len(self.work)), draw.choice([3, 20, 80, OUTPUT, OUTPUT])
            gone = draw.random() < 0.12
            try:
                self._ask(prompt, tokens, draw.randrange(4), draw.randint(1, 40) if gone else 0)
            except (OSError, ValueError) as error:
                self._fault(f"a client got {type(error).__name__}: {error}")
                return
            time.sleep(draw.random() * 0.2)

    def _ask(self, prompt: int, tokens: int, priority: int, lines: int) -> None:
        """Ask once; with ``lines`` the connection is closed after so many lines of a stream."""
        body: dict[str, Any] = {"model": "soak", "prompt": self.work[prompt], "max_tokens": tokens, "temperature": 0}
        body |= {"ignore_eos": True, "return_token_ids": True, "stream": bool(lines)}
        body |= {"priority": priority} if self.mode.priority else {}
        head = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.engine.url}/v1/completions", json.dumps(body).encode(), head)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            if lines:
                for _ in range(lines):
                    if not answer.readline():
                        break
            else:
                got = list(json.load(answer)["choices"][0]["token_ids"])
        with self.lock:
            self.figures.aborted += bool(lines)
            self.figures.answered += not lines
            self.figures.different += not lines and got != self.expected[prompt][:tokens]

    def _happen(self) -> None:
        """Every few seconds something happens to the engine."""
        draw = random.Random(f"{self.seed} events")
        # While a load is under way vLLM answers a reset that preempts everything with an error.
        events = [event for event in EVENTS if event != "reset" or "async_restore_bytes" not in self.mode.extra]
        while not self.over.wait(draw.uniform(2, 6)):
            event = draw.choice(events)
            try:
                if event in ("pause", "sleep"):
                    self._pause(event, draw.uniform(0.1, 1.5))
                else:
                    self._reset("reset_prefix_cache?reset_running_requests=true" if event == "reset" else event)
            except (OSError, ValueError) as error:
                self._fault(f"{event}: {type(error).__name__}: {error}")
                return

    def _pause(self, event: str, seconds: float) -> None:
        """Let the engine stand still. A pause clears the cache, which fails as a reset does: not beside loads."""
        clear = "async_restore_bytes" not in self.mode.extra
        pause = f"pause?mode=keep&clear_cache={str(clear).lower()}"
        try:
            self._post(pause if event == "pause" else "sleep?level=0&mode=keep")
            time.sleep(seconds)
            self.figures.pauses += 1
        finally:  # a pause that failed half-way stands still nevertheless
            self._post("resume" if event == "pause" else "wake_up?tags=scheduling")

    def _reset(self, path: str) -> None:
        done = json.loads(self._post(path) or "{}").get("success")
        self.figures.resets += bool(done)
        self.figures.resets_refused += not done

    def _post(self, path: str) -> str:
        request = urllib.request.Request(f"{self.engine.url}/{path}", b"", method="POST")
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return str(answer.read().decode())

    def _fault(self, text: str) -> None:
        with self.lock:
            self.figures.errors.append(text)

    def _series(self) -> dict[str, float]:
        """Return the sums of the series, and by reason those of the fallbacks."""
        from prometheus_client.parser import text_string_to_metric_families

        with urllib.request.urlopen(f"{self.engine.url}/metrics", timeout=PATIENCE) as answer:
            text = answer.read().decode()
        out: dict[str, float] = {}
        for sample in (s for family in text_string_to_metric_families(text) for s in family.samples):
            reason = sample.labels.get("reason") if sample.name.startswith(OURS) else None
            name = f"{sample.name}:{reason}" if reason else sample.name
            out[name] = out.get(name, 0.0) + sample.value
        return out

    def _is_idle(self) -> bool:
        series = self._series()
        return not series.get("vllm:num_requests_running") and not series.get("vllm:num_requests_waiting")

    def _rest(self) -> None:
        """Requests one after the other take the last reports in, through either server; then nothing may be held."""
        figures = self.figures
        self._wait(self._is_idle, 120)
        for _ in range(6):
            self._ask(0, 3, 0, 0)
        time.sleep(2)
        series = self._series()
        self.memory.end(figures)
        figures.descriptor_growth = 0  # connections come and go with the clients
        figures.held_host_blocks = int(series.get(f"{OURS}pool_blocks_used", 0))
        figures.held_device_blocks = series.get("vllm:kv_cache_usage_perc", 0.0) > 0
        figures.preempted = int(series.get("vllm:num_preemptions_total", 0))
        figures.parked, figures.restored = (int(series.get(f"{OURS}{n}_total", 0)) for n in ("parked", "restored"))
        begin = f"{OURS}fallback_total:"
        figures.reasons = {n.removeprefix(begin): int(v) for n, v in series.items() if n.startswith(begin)}
        figures.balance()
        figures.uncounted_preemptions = 0  # vLLM counts one when its request speaks again: those aborted never do
        figures.preempted = max(figures.preempted, figures.parked)


def _tree(engine: Engine) -> list[int]:
    """Return the processes of an engine."""
    process = engine._process
    if process is None:
        return []
    with contextlib.suppress(psutil.NoSuchProcess):
        return [process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))]
    return [process.pid]
