"""The demo's burst of requests, sent as a P/D proxy sends them, and the figures read from the engines afterwards."""

from __future__ import annotations

import json
import pathlib
import random
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from demo_engines import DemoError, Engine

MODEL = "cpu-tiny"
REQUESTS = 8
# All different. Equal requests keep step, so that all of a victim's blocks are full when it must go; and full blocks
# may be restored in any order, since keys carry their positions: the negative control would see nothing.
PROMPT_TOKENS = range(100, 100 + 3 * REQUESTS, 3)
OUTPUT_TOKENS = 150
REQUEST_SECONDS = 180.0
# Asks the prefill engine to keep the request's KV for another engine, whose address comes back with the answer.
ASK_FOR_KV = {
    "do_remote_decode": True,
    "do_remote_prefill": False,
    "remote_engine_id": None,
    "remote_block_ids": None,
    "remote_host": None,
    "remote_port": None,
}

Tokens = list[int]


def prompts() -> list[Tokens]:
    """Return the burst's prompts: random words of the tiny model's vocabulary, the same in every run."""
    draw = random.Random(0)
    return [[draw.randrange(3, 512) for _ in range(length)] for length in PROMPT_TOKENS]


def _complete(engine: Engine, prompt: Tokens, max_tokens: int, **more: Any) -> dict[str, Any]:
    body = {
        "model": MODEL,
        "prompt": prompt,
        "max_tokens": max_tokens,
        "temperature": 0,
        "ignore_eos": True,
        "return_token_ids": True,
        **more,
    }
    request = urllib.request.Request(
        f"{engine.url}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=REQUEST_SECONDS) as answer:
            return dict(json.load(answer))
    except urllib.error.HTTPError as error:
        text = error.read(500).decode(errors="replace")
        raise DemoError(f"the {engine.name} engine refused a request ({error.code}): {text}") from None
    except (OSError, ValueError) as error:
        engine.check()
        raise DemoError(f"no answer from the {engine.name} engine: {error}; see {engine.log}") from None


def _together(function: Callable[..., Any], *columns: Sequence[Any]) -> list[Any]:
    with ThreadPoolExecutor(max_workers=REQUESTS) as pool:
        return list(pool.map(function, *columns))


def answer_alone(engine: Engine, work: list[Tokens]) -> list[Tokens]:
    """Return the answers of one engine, which computes each prompt itself."""
    answers = _together(lambda prompt: _complete(engine, prompt, OUTPUT_TOKENS), work)
    return [list(answer["choices"][0]["token_ids"]) for answer in answers]


def answer_by_pair(prefill: Engine, decode: Engine, work: list[Tokens]) -> list[Tokens]:
    """Return the answers of a P/D pair: KV computed by ``prefill``, tokens by ``decode``.

    All prompts are computed first and all requests then reach the decode engine together, which presses hardest.
    """
    first = _together(lambda prompt: _complete(prefill, prompt, 1, kv_transfer_params=ASK_FOR_KV), work)
    params = [answer.get("kv_transfer_params") for answer in first]
    if not all(params):
        raise DemoError(f"the prefill engine kept no KV for the decode engine; see {prefill.log}")
    second = _together(
        lambda prompt, where: _complete(decode, prompt, OUTPUT_TOKENS, kv_transfer_params=where), work, params
    )
    return [list(answer["choices"][0]["token_ids"]) for answer in second]


def metrics(engine: Engine) -> dict[str, float]:
    """Return the sum over all labels of each of the engine's Prometheus series."""
    try:
        with urllib.request.urlopen(f"{engine.url}/metrics", timeout=30) as answer:
            text = answer.read().decode()
    except OSError as error:
        engine.check()
        raise DemoError(f"no metrics from the {engine.name} engine: {error}; see {engine.log}") from None
    return parse_metrics(text)


def parse_metrics(text: str) -> dict[str, float]:
    """Return name → sum over all label sets, from the Prometheus text format."""
    totals: dict[str, float] = {}
    for name, value in re.findall(r"^([A-Za-z_:][\w:]*)(?:\{.*\})? (\S+)", text, re.MULTILINE):
        totals[name] = totals.get(name, 0.0) + float(value)
    return totals


def scheduled_tokens(counter: pathlib.Path) -> int:
    """Return how many tokens the decode engine has scheduled so far, as bench.step_counter wrote it."""
    return int(_count(counter, "scheduled_tokens"))


def preemption_seconds(counter: pathlib.Path) -> float:
    """Return how long the decode engine's steps with preemptions took beyond others, as bench.step_counter wrote it."""
    return _count(counter, "preemption_seconds")


def _count(counter: pathlib.Path, name: str) -> float:
    try:
        return float(json.loads(counter.read_text())[name])
    except (OSError, ValueError, KeyError) as error:
        raise DemoError(f"the step counter left no count in {counter}: {error}") from None
