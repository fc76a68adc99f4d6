"""Workloads from files, histograms and distributions, and what cannot be read."""

from __future__ import annotations

import json
from random import Random

import pytest

from pd_launch.launcher.simulate import metrics
from pd_launch.launcher.simulate.loglines import LogSize
from pd_launch.launcher.simulate.spread import from_spread
from pd_launch.launcher.simulate.workload import Workload, WorkloadError, arranged, from_text


def _lengths(found: Workload) -> list[tuple[float, int, int]]:
    return [(job.arrival, job.prompt, job.output) for job in found.jobs]


def test_our_own_trace() -> None:
    lines = [
        {"arrival": 12.5, "prompt": 100, "output": 5, "priority": 2},
        {"arrival": 10, "prompt": 50, "output": 7, "session": "a"},
        {"arrival": 11, "prompt": 50, "output": 0},
    ]
    found = from_text("\n".join(map(json.dumps, lines)), "t.jsonl")
    assert _lengths(found) == [(0.0, 50, 7), (2.5, 100, 5)]
    assert found.jobs[1].priority == 2
    assert found.is_timed
    assert "session" in found.notes[0]


def test_mooncake() -> None:
    lines = [
        {"timestamp": 0, "input_length": 1000, "output_length": 52, "hash_ids": [0, 1]},
        {"timestamp": 3000, "input_length": 600, "output_length": 9, "hash_ids": [0, 5]},
    ]
    found = from_text("\n".join(map(json.dumps, lines)), "m.jsonl")
    assert _lengths(found) == [(0.0, 1000, 52), (3.0, 600, 9)]
    first, second = found.jobs
    assert (first.chunk, first.shared, second.shared) == (512, 1000, 600)


def test_azure() -> None:
    text = (
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n"
    )
    found = from_text(text, "azure.csv")
    assert [job[1:] for job in _lengths(found)] == [(374, 44), (396, 109)]
    assert found.jobs[1].arrival == pytest.approx(4.314579)


def test_vllm_bench() -> None:
    result = {"completed": 2, "total_input_tokens": 30, "total_output_tokens": 12, "max_concurrency": 4}
    mean = from_text(json.dumps(result), "r.json")
    assert _lengths(mean) == [(0.0, 15, 6)] * 2
    assert mean.concurrency == 4
    assert "save-detailed" in mean.notes[0]
    detailed = {**result, "max_concurrency": None, "request_rate": 2.0, "input_lens": [10, 20], "output_lens": [5, 7]}
    assert _lengths(from_text(json.dumps(detailed), "r.json")) == [(0.0, 10, 5), (0.5, 20, 7)]
    failed = {**detailed, "output_lens": [0, 7], "request_rate": "inf"}
    assert _lengths(from_text(json.dumps(failed), "r.json")) == [(0.0, 20, 7)]


def test_guidellm() -> None:
    requests = [
        {"prompt_tokens": 64, "output_tokens": 16, "start_time": 100.5},
        {"prompt_tokens": 65, "output_tokens": 17, "start_time": 100.0},
    ]
    found = from_text(json.dumps({"benchmarks": [{"requests": {"successful": requests}}]}, indent=1), "g.json")
    assert _lengths(found) == [(0.0, 65, 17), (0.5, 64, 16)]


def test_guidellm_of_newer_releases() -> None:
    """Tokens by side, and the times below ``info``."""
    requests = [
        {
            "info": {"status": "completed", "timings": {"request_start": start}},
            "input_metrics": {"text_tokens": prompt, "total_tokens": None},
            "output_metrics": {"text_tokens": 16, "total_tokens": 16},
        }
        for start, prompt in ((100.5, 64), (100.0, 65))
    ]
    found = from_text(json.dumps({"benchmarks": [{"requests": {"successful": requests}}]}), "g.json")
    assert _lengths(found) == [(0.0, 65, 16), (0.5, 64, 16)]


PAGE = """# HELP vllm:request_prompt_tokens Number of prefill tokens processed.
vllm:request_prompt_tokens_bucket{engine="0",le="100.0",model_name="m"} 0.0
vllm:request_prompt_tokens_bucket{engine="0",le="200.0",model_name="m"} 10.0
vllm:request_prompt_tokens_bucket{engine="0",le="+Inf",model_name="m"} 10.0
vllm:request_generation_tokens_bucket{engine="0",le="50.0",model_name="m"} 4.0
vllm:request_generation_tokens_bucket{engine="0",le="60.0",model_name="m"} 10.0
vllm:request_generation_tokens_bucket{engine="0",le="+Inf",model_name="m"} 10.0
"""


def test_histograms() -> None:
    found = metrics.from_page(PAGE, "metrics", 1, 1000)
    assert len(found.jobs) == 1000
    assert all(101 <= job.prompt <= 200 and 1 <= job.output <= 60 for job in found.jobs)
    long = sum(job.output > 50 for job in found.jobs)
    assert 540 < long < 660
    assert metrics.from_page(PAGE, "metrics", 1, 1000) == found
    assert len(metrics.from_page(PAGE, "metrics", 1, None).jobs) == 10
    with pytest.raises(WorkloadError, match="missing or empty"):
        metrics.from_page(PAGE.replace("generation", "other"), "metrics", 1, None)


def test_distributions() -> None:
    found = from_spread("requests=2000,prompt=lognormal(6,0.5),output=10-20,rate=4,common=64", 7)
    ordered = sorted(job.prompt for job in found.jobs)
    assert 370 < ordered[1000] < 440
    assert {job.output for job in found.jobs} == set(range(10, 21))
    assert found.jobs[-1].arrival == pytest.approx(500, rel=0.1)
    assert found.jobs[0].shared == 64
    assert from_spread("requests=3, prompt=5, output=normal(10,1), concurrency=2", 1).concurrency == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("requests=10,prompt=5", "lacks output="),
        ("requests=10,prompt=5,output=3,speed=2", "unknown key speed="),
        ("requests=10,requests=5,prompt=1,output=1", "twice"),
        ("requests=0,prompt=5,output=3", "whole number from 1"),
        ("requests=10,prompt=9-5,output=3", "from a smaller number"),
        ("requests=10,prompt=lognormal(665,8),output=3", "logarithm"),
        ("requests=10,prompt=5,output=3,rate=0", "above 0"),
        ("requests=10,prompt=5,output=3,rate=1,concurrency=2", "cannot be combined"),
    ],
)
def test_wrong_distributions(text: str, said: str) -> None:
    with pytest.raises(WorkloadError, match=said):
        from_spread(text, 1)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("hello\n", "is not a workload"),
        ('{"arrival": 0, "prompt": 5}', "output is missing"),
        ('{"arrival": 0, "prompt": true, "output": 1}', "prompt is 'True'"),
        ('{"arrival": 1e999, "prompt": 1, "output": 1}', "not a time"),
        ('{"arrival": 0, "prompt": 5, "output": 1}\n{"arrival": 1,', ":2: not a JSON object"),
        ('{"arrival": 0, "prompt": 5, "output": 0}', "holds no request"),
        ('{"benchmarks": []}', "no list of requests"),
        ("[" * 100_000, "is not a workload"),
        ('{"a":' + "[" * 100_000, "not a JSON object|nested too deep"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\nyesterday,1,2\n", "not a time"),
        ("ContextTokens\n1\n", "has the columns"),
    ],
)
def test_what_cannot_be_read(text: str, said: str) -> None:
    with pytest.raises(WorkloadError, match=said):
        from_text(text, "w")


def test_other_arrivals() -> None:
    found = from_text('{"arrival": 0, "prompt": 5, "output": 1}\n{"arrival": 9, "prompt": 5, "output": 1}', "w")
    random = Random(1)
    assert arranged(found, 3, None, random.random).concurrency == 3
    assert 0 < arranged(found, None, 2.0, random.random).jobs[1].arrival < 1


def test_step_time_is_fitted() -> None:
    """Lines as an engine with steps of 20 ms + 50 µs a token would write them."""
    log = LogSize()
    for running, prompt in ((10, 500.0), (40, 2000.0), (20, 100.0), (30, 4000.0)):
        # In a second: s steps with s·running + prompt tokens; s·0.02 + tokens·50e-6 = 1
        steps = (1 - prompt * 50e-6) / (0.02 + running * 50e-6)
        log.rates.append((prompt, steps * running, running))
    found = log.step_time()
    assert found is not None
    assert found[0].base == pytest.approx(0.02, rel=1e-3)
    assert found[0].per_token == pytest.approx(50e-6, rel=1e-3)
    assert found[1] < 1e-6
    assert LogSize().step_time() is None


def test_step_time_beside_drafts() -> None:
    """A step with two drafts, half of which are right, computes three tokens for each request and gives two."""
    log = LogSize(numbers={"num_speculative_tokens": 2})
    for running, prompt in ((10, 500.0), (40, 2000.0), (20, 100.0), (30, 4000.0)):
        steps = (1 - prompt * 50e-6) / (0.02 + 3 * running * 50e-6)
        log.rates.append((prompt, 2 * steps * running, running))
    assert log.step_time() is None
    log.accepted, log.drafted = 50, 100
    found = log.step_time()
    assert found is not None
    assert (found[0].base, found[0].per_token) == (pytest.approx(0.02, rel=1e-3), pytest.approx(50e-6, rel=1e-3))
